"""Numbers and durations as programs print them."""

import math
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

MAX_INDEX: Final = 10**15
_DURATION: Final = re.compile(
    rb"(?:(\d{1,6}) days?, )?(?:(\d{1,9}):)?(\d{1,9}):(\d\d(?:\.\d{1,9})?)\Z"
)
_STAMP: Final = re.compile(
    rb"(\d{4}-\d\d-\d\d)[T ]([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)(?:[.,](\d{1,9}))?"
)


def real(text: bytes | None) -> float | None:
    """Return a float, NaN and infinity kept; None if it is none."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def finite(text: bytes | None) -> float | None:
    """Return a finite float that is not negative; None otherwise."""
    value = real(text)
    return value if value is not None and math.isfinite(value) and value >= 0 else None


def whole(text: bytes | None) -> int | None:
    """Return a count, thousands separators allowed; None if it is none or absurd."""
    if text is None or len(text) > 24:
        return None
    try:
        value = int(text.replace(b",", b""))
    except ValueError:
        return None
    return value if 0 <= value <= MAX_INDEX else None


def duration_s(text: bytes) -> float | None:
    """Return seconds of ``[D day(s), ][H:]M:S``; tqdm prints no days but 27:46:40."""
    found = _DURATION.match(text)
    if found is None:
        return None
    days, hours, minutes, seconds = found.groups()
    return int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes) * 60 + float(seconds)


def stamp_s(text: bytes) -> float | None:
    """Return Unix seconds of the first date and time in ``text``, taken as UTC.

    Only differences are used, so the zone does not matter.
    """
    found = _STAMP.search(text)
    if found is None:
        return None
    day, hours, minutes, seconds, fraction = found.groups()
    begin_s = _day_s(day)
    if begin_s is None:
        return None
    whole_s = begin_s + int(hours) * 3600 + int(minutes) * 60 + int(seconds)
    return whole_s + (float(b"0." + fraction) if fraction else 0.0)


@lru_cache(maxsize=64)
def _day_s(day: bytes) -> float | None:
    """Return Unix seconds at the beginning of a day; a log names few days and many stamps."""
    try:
        return datetime.strptime(day.decode(), "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
