"""What ``pfid run --json`` prints when the run is over: every attempt, and what is exited with."""

from collections.abc import Iterable
from typing import Any

from pfid.cli.output import emit_json
from pfid.cli.output_lost import OutputLostError
from pfid.cli.times import rfc3339
from pfid.wire.record import RunRecord


def emit_run(
    name: str, exit_status: int, attempts: Iterable[RunRecord] = (), problem: str = ""
) -> None:
    """Print the object; a reader that left changes nothing about the exit status.

    Args:
        name: of the run.
        exit_status: what pfid is about to exit with.
        attempts: records of every launch that came to run, oldest first.
        problem: why nothing was launched, or not again; "" if nothing is wrong.
    """
    try:
        emit_json(
            {
                "name": name,
                "exit_status": exit_status,
                "problem": problem or None,
                "attempts": [_attempt(record) for record in attempts],
            }
        )
    except OutputLostError as lost:
        lost.settle()


def _attempt(record: RunRecord) -> dict[str, Any]:
    end = record.end
    return {
        "run_id": record.run_id,
        "attempt": record.attempt,
        "pid": record.process.pid,
        "started": rfc3339(record.started_at_s),
        "ended": None if end is None else rfc3339(end.at_s),
        "exit_code": None if end is None else end.exit_code,
        "signal": None if end is None else end.signal,
        "logs": [{"path": log.path, "rotated_to": log.rotated_to} for log in record.logs],
    }
