"""Whether a run that ended is launched again, and after how long."""

from typing import Final

from pfid.domain.exit_status import ExitStatus

BACKOFF_FIRST_S: Final = 1.0
BACKOFF_FACTOR: Final = 2.0
BACKOFF_MAX_S: Final = 60.0
_CTRL_C: Final = 2


def relaunches(
    status: ExitStatus, *, restarts_left: int, asked_to_end: bool, stopped_by_operator: bool
) -> bool:
    """Only a failure that nobody asked for is tried again."""
    if restarts_left < 1 or asked_to_end or stopped_by_operator or status.success:
        return False
    return status.signal != _CTRL_C


def backoff_s(attempt: int) -> float:
    """Seconds before the launch after ``attempt`` (1 for the first)."""
    return min(BACKOFF_MAX_S, BACKOFF_FIRST_S * BACKOFF_FACTOR ** min(attempt - 1, 16))
