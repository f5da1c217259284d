"""Units that figures are written with: how each is spelled, and what it is in a base unit."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit.

    Attributes:
        dimension: units of one dimension can be turned into each other.
        factor: what one of it is in the base unit.
    """

    dimension: str
    factor: float


_TABLE: Final = (
    ("time", 1e-9, "ns nanosecond nanoseconds"),
    ("time", 1e-6, "us µs μs usec microsecond microseconds"),
    ("time", 1e-3, "ms msec millisecond milliseconds"),
    ("time", 1.0, "s sec secs second seconds"),
    ("time", 60.0, "min mins minute minutes"),
    ("time", 3_600.0, "h hr hrs hour hours"),
    ("time", 86_400.0, "d day days"),
    ("time", 604_800.0, "week weeks"),
    ("share", 0.01, "% percent per-cent pct"),
    ("share", 1.0, "ratio share fraction"),
    ("points", 1.0, "pp percentage-point percentage-points"),
    ("size", 1.0, "B byte bytes"),
    ("size", 1e3, "kB"),
    ("size", 1e6, "MB"),
    ("size", 1e9, "GB"),
    ("size", 1e12, "TB"),
    ("size", 2.0**10, "KiB"),
    ("size", 2.0**20, "MiB"),
    ("size", 2.0**30, "GiB"),
    ("size", 2.0**40, "TiB"),
    ("power", 1.0, "W watt watts"),
    ("power", 1e3, "kW"),
    ("flops", 1e9, "GFLOPS GFLOP/s"),
    ("flops", 1e12, "TFLOPS TFLOP/s"),
    ("flops", 1e15, "PFLOPS PFLOP/s"),
    ("step_time", 1.0, "s/it s/step seconds/step seconds/it"),
    ("step_time", 1e-3, "ms/it ms/step"),
    ("step_rate", 1.0, "it/s steps/s"),
    ("token_rate", 1.0, "tok/s tokens/s tokens/sec tokens-per-second"),
    ("token_rate", 1e3, "ktok/s"),
    ("times", 1.0, "x \u00d7 times -fold fold"),
)
UNITS: Final[dict[str, Unit]] = {
    word.lower(): Unit(dimension, factor)
    for dimension, factor, words in _TABLE
    for word in words.split()
}
"""By spelling, in small letters; a hyphen within stands for any space."""

_WORDS: Final = "|".join(
    re.escape(word).replace(r"\-", r"[\s-]") for word in sorted(UNITS, key=len, reverse=True)
)
UNIT_AFTER: Final = re.compile(
    rf"[\])}}*`$+]{{0,3}}(?:[ \t\u00a0\u202f\u2009~-]|\\[,;]){{0,3}}"
    rf"[\[({{]?\\?({_WORDS})(?![A-Za-z0-9_/²^])",
    re.IGNORECASE,
)
"""A unit right behind a number, with what people set between the two."""


def unit_of(word: str) -> Unit | None:
    """The unit that is spelled so; None for a word of the user's own."""
    return UNITS.get(re.sub(r"\s", "-", word.strip()).lower())


@cache
def spellings(dimension: str) -> tuple[str, ...]:
    """Every spelling of the units of one dimension, that of which at least two are letters."""
    return tuple(word for word, unit in UNITS.items() if unit.dimension == dimension)
