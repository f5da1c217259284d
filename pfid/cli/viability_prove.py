"""``pfid viability prove-serving``: start the engine, see it serve, keep how that ended."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from pfid.cli.finite import FiniteRange
from pfid.cli.output import Exit, emit_json, error, facts, note, say
from pfid.cli.times import rfc3339
from pfid.domain.serving import ServingEnd, Shape
from pfid.formats.engine_command import is_url
from pfid.formats.untrusted import printable

if TYPE_CHECKING:
    from pfid.wire.serving import ServingProof

INTERRUPTED: Final = 130
_LINE_MAX_CHARS: Final = 400


def _url(_: click.Context, __: click.Parameter, value: str) -> str:
    if value and not is_url(value):
        raise click.BadParameter(f"{value!r} is no URL like http://127.0.0.1:8000")
    return value.rstrip("/")


@click.command(
    "prove-serving",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@click.option(
    "--model",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The model. [default: the first folder in CMD that holds a config.json]",
)
@click.option(
    "--url",
    default="",
    callback=_url,
    metavar="URL",
    help="Where the engine will answer. [default: by --host and --port in CMD]",
)
@click.option(
    "--serves",
    type=click.Choice([shape.value for shape in Shape]),
    help="What is served. [default: adapter if an option of CMD speaks of them, else merged]",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Model or adapter that shall answer. May be given again. [default: adapters in CMD, "
    "else the first that the engine lists]",
)
@click.option(
    "--deadline",
    "deadline_s",
    type=FiniteRange(1, 86_400),
    default=900.0,
    show_default=True,
    metavar="SECONDS",
    help="From its start to its first completion.",
)
@click.option(
    "--grace",
    "grace_s",
    type=FiniteRange(0, 3_600),
    default=15.0,
    show_default=True,
    metavar="SECONDS",
    help="Between asking the engine to end and killing it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.argument("command_line", nargs=-1, required=True, type=click.UNPROCESSED, metavar="CMD...")
def command(command_line: tuple[str, ...], as_json: bool, **asked: Any) -> None:
    """Start CMD, an engine with the feature's flag alone, and keep how that ended.

    The engine is launched and watched like any run (`pfid run`), asked for /health, /v1/models and
    one completion of a few tokens, and taken down again with all that it started. The proof is
    bound to the model's configuration, to the engine's version and to what is served, and
    `pfid viability` and `pfid preflight` believe it as long as these are the same. An adapter is
    not needed: --enable-lora alone is refused where it cannot work.

    Exit codes: 0 it served, 1 it did not, 2 usage, 3 the trial could not be made; 130 it was ended
    by a signal, and nothing is kept.
    """
    from pfid.bootstrap.viability.prove_serving import (
        Asked,
        InterruptedTrialError,
        NotProvableError,
        prove_serving,
    )

    shape = asked.pop("serves")
    try:
        proof, file = prove_serving(
            Asked(
                argv=command_line,
                shape=Shape(shape) if shape else None,
                environ=dict(os.environ),
                cwd=str(Path.cwd()),
                say=note,
                **asked,
            )
        )
    except NotProvableError as problem:
        error(str(problem))
        sys.exit(Exit.UNKNOWN)
    except InterruptedTrialError as problem:
        error(str(problem))
        sys.exit(INTERRUPTED)
    if as_json:
        emit_json(_json(proof, file))
    else:
        _print(proof, file)
    sys.exit(Exit.OK if proof.end is ServingEnd.READY else Exit.FAILED)


def _json(proof: "ServingProof", file: Path) -> dict[str, Any]:
    return {
        "end": proof.end.value,
        "error": list(proof.error),
        "engine": proof.engine,
        "model": proof.model,
        "serves": proof.shape.value,
        "served_name": proof.served_name or None,
        "flags": list(proof.flags),
        "argv": list(proof.argv),
        "answers": list(proof.answers),
        "ready_s": proof.ready_s,
        "exit_code": proof.exit_code,
        "signal": proof.signal,
        "at": rfc3339(proof.at_s),
        "run_id": proof.run_id,
        "log": proof.log,
        "log_sha256": proof.log_sha256,
        "proof": str(file),
    }


def _print(proof: "ServingProof", file: Path) -> None:
    rows = [
        ("came out", proof.end.value),
        ("engine", proof.engine.known_as),
        ("model", f"{proof.model.name} ({', '.join(proof.model.classes) or 'no class'})"),
        ("serves", proof.shape.value),
        ("flags", " ".join(proof.flags)),
        ("answered by", proof.served_name),
        ("after", f"{proof.ready_s:.1f} s" if proof.ready_s is not None else ""),
        ("kept", str(file)),
    ]
    facts([(name, printable(text, _LINE_MAX_CHARS)) for name, text in rows if text])
    for line in proof.error:
        say(line, begin="    ")
