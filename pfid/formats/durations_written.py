"""Durations of several parts: `2h05m`, `2 hours and 5 minutes`, `PT2H5M`, `2:05 h`, `2:05:00`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Final

DAY_S, HOUR_S, MINUTE_S = 86_400.0, 3_600.0, 60.0
_GAP: Final = r"(?:[ \t\u00a0\u202f]*(?:,|and|und|&)?[ \t\u00a0\u202f]*)"
_UNIT: Final = r"[ \t\u00a0\u202f]?"
_PARTS: Final = re.compile(
    rf"(?<![\w.,:-])(?:(?P<d>\d+){_UNIT}(?:d|days?){_GAP})?"
    rf"(?:(?P<h>\d+){_UNIT}(?:h|hrs?|hours?|std){_GAP})?"
    rf"(?:(?P<m>\d+){_UNIT}(?:m|mins?|minutes?){_GAP})?"
    rf"(?:(?P<s>\d+(?:[.,]\d+)?){_UNIT}(?:s|secs?|seconds?))?(?<![\s,])(?![\w.]\w|\w)",
    re.IGNORECASE,
)
_SHORT: Final = re.compile(r"(?<![\w.,:-])(?P<h>\d+)h(?P<m>[0-5]\d)(?![\w:])")
_ISO: Final = re.compile(
    r"\bP(?:(?P<d>\d+)D)?T(?:(?P<h>\d+)H)?(?:(?P<m>\d+)M)?(?:(?P<s>\d+(?:[.,]\d+)?)S)?\b"
)
_CLOCK: Final = re.compile(
    r"(?<![\w:.-])(?<!\d\d-\d\d[ T])(?:(?P<d>\d+)-)?(?P<first>\d+):(?P<second>[0-5]\d(?:\.\d+)?)"
    r"(?::(?P<third>[0-5]\d(?:[.,]\d+)?))?(?![\w:])(?:[ \t\u00a0]?(?P<unit>h|hours?|hrs?|min)\b)?"
)
_MAY_LAST: Final = re.compile(r"\d[ \t\u00a0\u202f]?[dhms]|\d:\d", re.IGNORECASE)
"""Is in every duration; most lines have nothing of the kind."""
_LASTS: Final = re.compile(
    r"\b(?:took|takes?|taking|elapsed|duration|lasts?|lasted|runtime|wall|walltime|hours|rebuild\w*)\b|"
    r"_(?:s|time|duration|elapsed)\b|\btime\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Lasting:
    """A duration in a text: where, and how long."""

    start: int
    end: int
    seconds: float


def durations_in(text: str) -> Iterator[Lasting]:
    """Every duration of several parts.

    What looks like a time of day is one, unless a unit or the line says that something lasts.
    """
    if _MAY_LAST.search(text) is None:
        return
    for found in _PARTS.finditer(text):
        if sum(part is not None for part in found.groups()) > 1:
            yield _lasting(found)
    for pattern in (_SHORT, _ISO):
        for found in pattern.finditer(text):
            if any(found.groups()):
                yield _lasting(found)
    clocks = list(_CLOCK.finditer(text))
    lasts = bool(clocks) and _LASTS.search(text) is not None
    for found in clocks:
        seconds = _by_clock(found, lasts=lasts)
        if seconds is not None:
            yield Lasting(found.start(), found.end(), seconds)


def parts_pattern(seconds: float) -> Iterator[str]:
    """Patterns, without look-around, one of which every spelling of so many seconds matches."""
    if not isfinite(seconds):
        return
    for size, letters in ((DAY_S, "dD"), (HOUR_S, "hHsS"), (MINUTE_S, "mM")):
        whole = int(seconds // size)
        if 0 < whole < 10_000_000 and seconds % size:
            yield rf"{whole}{_BLANK}[{letters}][a-zA-Z]{{0,6}}{_BETWEEN}[0-9]"
            yield rf"PT?{whole}[{letters.upper()}][T0-9]"
            yield rf"{whole}[-:]0*[0-9]"
        elif 0 < whole < 10_000_000:
            yield rf"{whole}:0"
            yield rf"{whole}{_BLANK}[{letters}][a-zA-Z]{{0,6}}{_BETWEEN}0"
            yield rf"PT?{whole}[{letters.upper()}]"
            yield rf"{whole}-[0-9]+:"


_BLANK: Final = "[ \t\u00a0\u202f]?"
_BETWEEN: Final = "([ \t\u00a0\u202f]|,|and|und|&){0,5}"


def _lasting(found: re.Match[str]) -> Lasting:
    parts = {name: float(told.replace(",", ".")) for name, told in found.groupdict("0").items()}
    seconds = (
        parts.get("d", 0.0) * DAY_S
        + parts.get("h", 0.0) * HOUR_S
        + parts.get("m", 0.0) * MINUTE_S
        + parts.get("s", 0.0)
    )
    return Lasting(found.start(), found.end(), seconds)


def _by_clock(found: re.Match[str], *, lasts: bool) -> float | None:
    first, second = float(found["first"]), float(found["second"])
    unit = (found["unit"] or "").lower()
    if found["third"] is not None:
        if not lasts and not unit and not found["d"]:
            return None
        third = float(found["third"].replace(",", "."))
        days = float(found["d"] or 0)
        return days * DAY_S + first * HOUR_S + second * MINUTE_S + third
    if unit.startswith("h"):
        return first * HOUR_S + second * MINUTE_S
    if unit == "min":
        return first * MINUTE_S + second
    return None
