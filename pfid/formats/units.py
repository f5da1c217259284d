"""Units that figures are written with: how each is spelled, and what it is in a base unit."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
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
    ("time", 1.0, "s sec secs second seconds sekunde sekunden"),
    ("time", 60.0, "min mins minute minutes minuten"),
    ("time", 3_600.0, "h hr hrs hour hours std stunde stunden"),
    ("time", 86_400.0, "d day days tag tage"),
    ("time", 604_800.0, "week weeks"),
    ("share", 0.01, "% percent per-cent pct"),
    ("share", 1.0, "ratio share fraction"),
    (
        *("points", 1.0),
        "pp percentage-point percentage-points %-point %-points pt pts points prozentpunkte",
    ),
    ("size", 1.0, "B byte bytes"),
    ("size", 1e3, "kB kilobyte kilobytes"),
    ("size", 1e6, "MB megabyte megabytes"),
    ("size", 1e9, "GB gigabyte gigabytes"),
    ("size", 1e12, "TB terabyte terabytes"),
    ("size", 2.0**10, "KiB kibibyte kibibytes"),
    ("size", 2.0**20, "MiB mebibyte mebibytes"),
    ("size", 2.0**30, "GiB gibibyte gibibytes"),
    ("size", 2.0**40, "TiB tebibyte tebibytes"),
    ("power", 1.0, "W watt watts"),
    ("power", 1e3, "kW"),
    ("flops", 1e9, "GFLOPS GFLOP/s"),
    ("flops", 1e12, "TFLOPS TFLOP/s"),
    ("flops", 1e15, "PFLOPS PFLOP/s"),
    ("step_time", 1.0, "s/it s/iter s/iteration s/step sec/it sec/iter sec/step seconds/step"),
    ("step_time", 1.0, "seconds/it s-per-it s-per-iteration s-per-step s-per-optimizer-step"),
    ("step_time", 1.0, "seconds-per-it seconds-per-iteration seconds-per-step"),
    ("step_time", 1.0, "seconds-per-optimizer-step"),
    ("step_time", 1e-3, "ms/it ms/iter ms/iteration ms/step ms-per-step ms-per-iteration"),
    ("step_rate", 1.0, "it/s it/sec iter/s iter/sec iters/s iterations/s iterations/sec"),
    ("step_rate", 1.0, "iterations/second step/s step/sec steps/s steps/sec steps/second"),
    ("step_rate", 1.0, "steps-per-s steps-per-sec steps-per-second iterations-per-second"),
    ("token_rate", 1.0, "tok/s tok/sec tok/second token/s token/sec tokens/s tokens/sec"),
    ("token_rate", 1.0, "tokens/second tok-per-s tokens-per-s tokens-per-sec tokens-per-second"),
    ("token_rate", 1e3, "ktok/s"),
    ("token_time", 1.0, "s/token s/tok sec/token seconds/token s-per-token seconds-per-token"),
    ("token_time", 1e-3, "ms/token ms/tok ms-per-token"),
    ("token_time", 1e-6, "us/token \u00b5s/token \u03bcs/token"),
    ("times", 1.0, "x \u00d7 times -fold fold"),
)
UNITS: Final[dict[str, Unit]] = {
    word.lower(): Unit(dimension, factor)
    for dimension, factor, words in _TABLE
    for word in words.split()
}
"""By spelling, in small letters; a hyphen within stands for any space."""

_WORDS: Final = "|".join(
    re.escape(word).replace(r"\-", r"[\s-]").replace("/", r"\s?/\s?")
    for word in sorted(UNITS, key=len, reverse=True)
)
UNIT_AFTER: Final = re.compile(
    rf"[\])}}*`$+]{{0,3}}(?:[ \t\u00a0\u202f\u2009~-]|\\[,;]){{0,3}}"
    rf"[\[({{]?\\?({_WORDS})(?![A-Za-z0-9_/²^])",
    re.IGNORECASE,
)
"""A unit right behind a number, with what people set between the two."""


_SPREAD: Final = re.compile(
    r"[ \t\u00a0]?(?:\u00b1|\+/-|\+-)[ \t\u00a0]?\d[\d.,]*\d|[ \t\u00a0]?(?:\u00b1|\+/-|\+-)"
    r"[ \t\u00a0]?\d|\(\d{1,3}\)"
)


def spread_after(line: str, end: int) -> int:
    """Where `4.3 +- 0.2` or `4.3(2)` ends, given where its number does."""
    spread = _SPREAD.match(line, end)
    return end if spread is None else spread.end()


@lru_cache(maxsize=1_024)
def unit_of(word: str) -> Unit | None:
    """The unit that is spelled so; None for a word of the user's own."""
    plain = re.sub(r"\s*/\s*", "/", word.strip())
    return UNITS.get(re.sub(r"\s", "-", plain).lower())


@cache
def spellings(dimension: str) -> tuple[str, ...]:
    """Every spelling of the units of one dimension, that of which at least two are letters."""
    return tuple(word for word, unit in UNITS.items() if unit.dimension == dimension)


@cache
def sizes(dimension: str) -> Mapping[float, tuple[str, ...]]:
    """The spellings of each size of unit of one dimension, by its factor."""
    words = spellings(dimension)
    return {
        f: tuple(w for w in words if UNITS[w].factor == f) for f in {UNITS[w].factor for w in words}
    }
