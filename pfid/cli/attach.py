"""``pfid attach``: watch a process that is already running."""

import os
import sys

import click

from pfid.cli.chosen_name import chosen_name
from pfid.cli.exit_codes import Exit
from pfid.cli.finite import WholeRange
from pfid.cli.output import emit_json, error, note, say
from pfid.cli.times import rfc3339
from pfid.domain.errors import PfidError


@click.command("attach")
@click.argument("pid", type=WholeRange(1))
@click.option("--name", callback=chosen_name, help="Name of the run. [default: the script's stem]")
@click.option(
    "--log",
    "logs",
    multiple=True,
    type=click.Path(),
    metavar="PATH",
    help="Log, followed from its end. [default: the file that the process writes its output to]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(pid: int, name: str | None, logs: tuple[str, ...], as_json: bool) -> None:
    """Watch process PID, which is yours (root: anybody's), with its real start.

    It is handed to the box's daemon, or to an engine of its own where there is none, and pfid
    returns. Its descendants are watched with it, to its end. A log that is not there yet is not
    followed.

    Exit codes: 0 it is watched, 2 it cannot be.
    """
    from pfid.bootstrap.attaching import attach_process

    try:
        record, said = attach_process(os.environ, pid, name=name, logs=logs, say=note)
    except PfidError as problem:
        error(str(problem))
        sys.exit(Exit.USAGE)
    paths = [log.path for log in record.logs]
    if as_json:
        emit_json(
            {
                "run_id": record.run_id,
                "name": record.name,
                "pid": record.process.pid,
                "started": rfc3339(record.started_at_s),
                "logs": paths,
            }
        )
    else:
        say(f"{said} (name {record.name}, log {', '.join(paths) or 'none'})")
