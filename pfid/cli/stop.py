"""``pfid stop``: end a run, recording who and why."""

import os
import sys

import click

from pfid.cli.exit_codes import Exit
from pfid.cli.finite import FiniteRange
from pfid.cli.output import emit_json, error, note, say
from pfid.domain.errors import PfidError

_WHY_MAX_CHARS = 500


@click.command("stop")
@click.argument("run")
@click.option("--why", default="", help="Reason, kept for the run's owner.", metavar="TEXT")
@click.option(
    "--grace",
    "grace_s",
    type=FiniteRange(0, 86_400),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Between asking (TERM) and killing (KILL).",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(run: str, why: str, grace_s: float, as_json: bool) -> None:
    """Stop RUN, an id or a name.

    Its watcher is told who stops it and why, so that the end is no alarm. The run's process is
    asked to end and then killed; what it leaves behind of its tree likewise. Exit status 0 when
    all has ended, 1 when something remains, 2 when there is no such run.
    """
    from pfid.bootstrap.stopping import as_builtins, find_target, stop_run

    try:
        target = find_target(os.environ, run)
        stopped = stop_run(os.environ, target, why=why[:_WHY_MAX_CHARS], grace_s=grace_s, say=note)
    except PfidError as problem:
        error(str(problem))
        sys.exit(Exit.USAGE)
    if as_json:
        emit_json(as_builtins(stopped, target, why))
    else:
        how = "killed" if stopped.killed else "stopped"
        also = f", with {stopped.leftovers} left behind" if stopped.leftovers else ""
        say(f"{target.run_id} is {how}{also}")
    if stopped.remaining:
        error(f"{stopped.remaining} processes are still there: a device holds them")
        sys.exit(Exit.FAILED)
