"""Times as the command line shows them: RFC 3339 in UTC for machines, ages for people."""

from datetime import UTC, datetime
from typing import Final

_STEPS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def rfc3339(at_s: float | None) -> str | None:
    """Wall time in Unix seconds as RFC 3339 UTC with milliseconds; None stays None."""
    if at_s is None:
        return None
    try:
        moment = datetime.fromtimestamp(at_s, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def age(seconds: float | None) -> str:
    """A duration in its largest unit, ``3.2 h``; "" for None, ``0.0 s`` for one in the future."""
    if seconds is None:
        return ""
    for size, unit in _STEPS:
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{max(seconds, 0.0):.1f} s"
