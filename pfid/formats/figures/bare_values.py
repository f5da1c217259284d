"""What the bare number of a figure may be: 4.3 h is 4.3, 258, 15480, and 15.48 before a ``k``.

Of the numbers of a line nearly all are none of these, and nothing more of them need be read.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from math import prod
from typing import Final

from pfid.formats.figures.prefilter import wholes
from pfid.formats.figures.wanted import Wanted
from pfid.formats.number_words import MULTIPLIERS, Written
from pfid.formats.units import sizes, unit_of

_NEAR: Final = 1e-6
"""Far wider than figures are compared with."""
_MANY: Final = sorted({1.0, *MULTIPLIERS.values()})
_TO_SECONDS: Final = tuple(
    prod(parts)
    for many in range(1, 4)
    for parts in combinations_with_replacement((60, 24, 3_600, 86_400), many)
)
"""What somebody multiplies a time by."""


def may_be(one: Wanted, number: Written) -> bool:
    """Whether a number may be a figure, or the lower end of one; what is not, never is."""
    return any(_holds(_values(one), abs(value)) for value in (*number.values, *number.dotted))


def _holds(values: Sequence[float], value: float) -> bool:
    at = bisect_left(values, value * (1 - _NEAR))
    return at < len(values) and values[at] <= value * (1 + _NEAR)


@lru_cache(maxsize=1_024)
def _values(one: Wanted) -> Sequence[float]:
    """In order."""
    return sorted(abs(value) / many for value in set(_plain(one)) for many in _MANY)


def _plain(one: Wanted) -> Iterator[float]:
    """Values before what is multiplied by a letter."""
    meant = unit_of(one.unit) if one.unit else None
    yield one.low
    if meant is None:
        return
    base = one.low * meant.factor
    yield base
    yield from (base / factor for factor in sizes(meant.dimension))
    if meant.dimension == "size":
        yield base * 1e9  # 609M, said of 0.609 of what is counted in billions
    if meant.dimension == "time":
        yield from (base / factor for factor in _TO_SECONDS)
    if meant.dimension == "share":
        yield from (float(part) for part, _ in wholes(base))
