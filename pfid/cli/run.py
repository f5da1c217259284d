"""``pfid run``: launch a training run under watch."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

import pfid
from pfid.cli.chosen_name import chosen_name
from pfid.cli.finite import FiniteRange, WholeRange
from pfid.cli.prose import folded
from pfid.domain.errors import ExecError, LaunchError, PfidError

if TYPE_CHECKING:
    from pfid.launch.run import Ran
    from pfid.wire.record import RunRecord

REFUSED: Final = 125
"""Exit status of pfid's own refusals; every other one is the child's."""


class _RefusedUsageError(click.UsageError):
    exit_code = REFUSED


class _RunCommand(click.Command):
    """Usage errors are refusals too: 2 could be the child's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            raise _RefusedUsageError(error.format_message(), error.ctx or ctx) from error


@click.command(
    "run",
    cls=_RunCommand,
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
)
@click.option("--name", callback=chosen_name, help="Name of the run. [default: the script's stem]")
@click.option(
    "--log",
    "logs",
    multiple=True,
    type=click.Path(),
    metavar="PATH",
    help="Log. The first gets the command's output; further ones are files that the trainer "
    "writes itself. Each is rotated and followed. [default: NAME.log]",
)
@click.option(
    "--restart",
    "restarts",
    type=WholeRange(0, 1000),
    default=0,
    metavar="N",
    help="Launch again after a failure, N times at most.",
)
@click.option(
    "--instrument",
    is_flag=True,
    help="Have every PyTorch program below CMD report its optimizer steps from inside, with no "
    "line of it changed.",
)
@click.option(
    "--expect-step",
    "expect_step_s",
    type=FiniteRange(0, min_open=True),
    metavar="SECONDS",
    help="How long a step should take.",
)
@click.option(
    "--spec",
    type=click.Path(),
    metavar="SPEC.toml",
    help="The project's spec: which files, settings and artefacts its provenance is to hold. "
    "[default: preflight.toml, if there is one]",
)
@click.option(
    "--preflight",
    is_flag=True,
    help="Check the project by its spec first (pfid preflight), and launch only if it is ready.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object when the run is over, and nothing else on stdout: CMD's output "
    "goes to the log alone.",
)
@click.argument("command_line", nargs=-1, required=True, type=click.UNPROCESSED, metavar="CMD...")
def command(**options: Any) -> None:
    """Launch CMD under watch, and wait for it.

    Refuses while a run of the same name is alive, and where the daemon sees memory of a GPU that
    CMD would use held by nobody who lives. A log with text in it is renamed to
    NAME.YYYYMMDDTHHMMSSZ.log, so that one file describes one run. CMD writes straight to the log;
    on a terminal its output is shown as well. PYTHONUNBUFFERED=1 is set for CMD unless the
    variable is set already (to anything), so that lines reach the log when they are printed.

    The exit status is CMD's (128+n for signal n); pfid's own refusals are 125, a command that
    cannot be executed is 126 or 127.
    """
    from pfid.policy.run_name import default_name

    name = options["name"] or default_name(options["command_line"])
    attempts: Sequence[RunRecord] = ()
    problem = ""
    try:
        ran = _launch(name, options)
        code, attempts, problem = ran.shell_code, ran.attempts, ran.problem
        _say_if_unread(attempts[-1])
    except ExecError as error:
        _say(str(error))
        code, problem = error.exit_code, str(error)
    except PfidError as error:
        for line in str(error).splitlines():
            _say(line)
        code, problem = REFUSED, str(error)
    if options["as_json"]:
        from pfid.cli.run_json import emit_run

        emit_run(name, code, attempts, problem)
    sys.exit(code)


def _launch(name: str, options: dict[str, Any]) -> "Ran":
    from pfid.bootstrap.declarations import declarations
    from pfid.bootstrap.gpu_guard import refuse_orphaned_gpus
    from pfid.bootstrap.kept_fit import kept_fit
    from pfid.bootstrap.launch import BoxChildren, build_launcher
    from pfid.launch.request import LaunchRequest
    from pfid.launch.run import run
    from pfid.policy.run_name import log_name

    if options["preflight"]:
        from pfid.cli.run_preflight import refuse_unready

        refuse_unready(name, options["command_line"], options["spec"], _say)
    cwd = _cwd()
    logs = options["logs"] or (log_name(name),)
    request = LaunchRequest(
        name=name,
        argv=options["command_line"],
        log_paths=tuple(dict.fromkeys(os.path.join(cwd, log) for log in logs)),  # noqa: PTH118
        environ=dict(os.environ),
        cwd=cwd,
        restarts=options["restarts"],
        expect_step_s=options["expect_step_s"],
        fit=kept_fit(name, os.environ),
        instrument=_instrument(options["command_line"]) if options["instrument"] else None,
    )
    declared = declarations(options["spec"], cwd, _say)
    refuse_orphaned_gpus(request.environ)
    with BoxChildren() as children:
        shown = not options["as_json"]
        launcher = build_launcher(request.environ, children, _say, declared, shown=shown)
        return run(launcher, request)


def _say_if_unread(record: "RunRecord") -> None:
    """Tell whoever trained with lines that pfid does not know how it comes to know them."""
    from pfid.bootstrap.unread_log import unread_log

    log = unread_log(record, os.environ)
    if log is not None:
        _say(
            f"no step was read in {log}; if its lines tell steps, a pattern of your own goes under "
            "[dialects.regex] of the configuration (`pfid steps LOG --regex NAME=PATTERN` tries it)"
        )


def _instrument(argv: Sequence[str]) -> str | None:
    """The folder that makes Python report; None, said aloud, where that cannot be."""
    from pfid.policy.instrument import CALL, blind

    folder = os.path.join(os.path.dirname(pfid.__file__), "trainer", "site")  # noqa: PTH118, PTH120
    why = blind(argv)
    if why is not None:
        _say(f"WARNING: --instrument will see no step: {why}; {CALL}")
    if ":" in folder:
        _say(f"WARNING: --instrument cannot work from {folder}: PYTHONPATH is cut at colons")
        return None
    return folder


def _cwd() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - a plain string
    except OSError as error:
        raise LaunchError("the working directory is gone; change into one that exists") from error


def _say(text: str) -> None:
    """Tell the person; a terminal that hung up does not end a run."""
    try:
        sys.stderr.write(f"{folded(text, sys.stderr, begin='pfid: ')}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        return
