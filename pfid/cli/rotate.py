"""``pfid rotate``: make room for the next run's log, losing nothing."""

import os
import sys
from pathlib import Path

import click

from pfid.cli.chosen_name import chosen_name
from pfid.cli.exit_codes import Exit
from pfid.cli.output import emit_json, error, note, say
from pfid.domain.errors import PfidError


@click.command("rotate")
@click.argument("log", type=click.Path(path_type=Path))
@click.option(
    "--name",
    callback=chosen_name,
    help="Name of the run that is about to start. [default: the log's stem]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(log: Path, name: str | None, as_json: bool) -> None:
    """Rename LOG to NAME.YYYYMMDDTHHMMSSZ.log if there is text in it.

    For launchers that are not pfid, before they start: the same rules as `pfid run`. Refuses
    (exit status 1) while a run of that name is alive, and changes nothing if it fails.
    """
    from pfid.bootstrap.rotating import rotate_log
    from pfid.policy.run_name import named

    try:
        rotated_to = rotate_log(os.environ, log, name or named(log.stem or log.name), note)
    except PfidError as problem:
        error(str(problem))
        sys.exit(Exit.FAILED)
    if as_json:
        emit_json({"log": str(log.absolute()), "rotated_to": rotated_to})
    else:
        say(f"{log} is now {rotated_to}" if rotated_to else f"{log} held nothing")
