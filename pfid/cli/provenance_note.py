"""``pfid provenance note RUN``: annotate an artefact beside it."""

import os
import pwd
import time
from pathlib import Path
from typing import Any

import click

from pfid.adapters.manifest_files import NOTE
from pfid.adapters.note_file import add_entry
from pfid.bootstrap.manifest_drift import drift_of, sha256_of
from pfid.bootstrap.manifest_lookup import load
from pfid.cli.output import Exit, emit_json, error, say
from pfid.cli.provenance_text import drift_json, tell_drift
from pfid.cli.times import rfc3339
from pfid.formats.provenance_note import TITLE, Annotation, entry


def _texts(_: click.Context, parameter: click.Parameter, values: Any) -> Any:
    if not all(text.strip() for text in (values if isinstance(values, tuple) else (values,))):
        raise click.BadParameter(f"{parameter.opts[0]} needs words")
    return values


@click.command()
@click.argument("run")
@click.option(
    "--wrong",
    multiple=True,
    required=True,
    callback=_texts,
    metavar="TEXT",
    help="What is wrong. May be given again.",
)
@click.option(
    "--since", required=True, callback=_texts, metavar="TEXT", help="Since when it is wrong."
)
@click.option(
    "--evidence",
    multiple=True,
    required=True,
    callback=_texts,
    metavar="TEXT",
    help="What shows it. May be given again.",
)
@click.option(
    "--not-wrong",
    multiple=True,
    required=True,
    callback=_texts,
    metavar="TEXT",
    help="What is not wrong: a bare correction casts doubt over every field it does not mention. "
    "May be given again.",
)
@click.option(
    "--artefact",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="What the note is about and stands beside. [default: the run's provenance.json]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(
    ctx: click.Context, /, run: str, artefact: Path | None, as_json: bool, **said: Any
) -> None:
    """Write PROVENANCE-NOTE.md beside an artefact of RUN, which is not touched.

    An artefact that was changed since its digest was recorded is annotated all the same, and the
    note says so. Exit codes: 0 fine, 1 the artefact was changed, 2 no such run, 3 it cannot be
    read or the note cannot be written.
    """
    read = load(run, os.environ)
    about = (read.file if artefact is None else artefact).absolute()
    digest = sha256_of(about)
    if digest is None:
        error(f"{about} cannot be read: there is nothing to annotate")
        ctx.exit(Exit.UNKNOWN)
    beside = about.with_name(NOTE)
    changes = drift_of(read, about, digest)
    told = tuple(f"it was changed: its digest on record is {d.recorded}" for d in changes)
    written = Annotation(
        artefact=about.name,
        sha256=digest,
        written=rfc3339(time.time()) or "",
        author=_author(),
        run_id=read.manifest.run_id,
        wrong=(*said["wrong"], *told),
        since=said["since"],
        evidence=said["evidence"],
        not_wrong=said["not_wrong"],
    )
    add_entry(beside, TITLE, entry(written))
    tell_drift(changes)
    if as_json:
        emit_json(
            {
                "note": str(beside),
                "artefact": str(about),
                "sha256": digest,
                "drift": drift_json(changes),
            }
        )
    else:
        say(str(beside))
    ctx.exit(Exit.FAILED if changes else Exit.OK)


def _author() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
