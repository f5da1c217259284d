"""How well a share is known that was counted over few items, and how well two differ."""

from dataclasses import dataclass
from math import sqrt
from typing import Final

Z_95: Final = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends of an interval."""

    low: float
    high: float


def wilson(hits: int, n: int, z: float = Z_95) -> Interval:
    """Wilson's score interval of a share; unlike Wald's it never leaves 0..1.

    Source: Wilson 1927, J. Am. Stat. Assoc. 22:209.

    Args:
        hits: items that count.
        n: items there were, at least 1.
        z: quantile of the normal distribution; the default covers 95 %.

    Raises:
        ValueError: unless 0 <= hits <= n and n >= 1.
    """
    if not 0 <= hits <= n or n < 1:
        raise ValueError(f"{hits} of {n} is no share")
    share, square = hits / n, z * z
    middle = (share + square / (2 * n)) / (1 + square / n)
    half = z * sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    low = 0.0 if hits == 0 else max(middle - half, 0.0)
    high = 1.0 if hits == n else min(middle + half, 1.0)
    return Interval(min(low, share), max(high, share))


def difference(one: tuple[int, int], other: tuple[int, int], z: float = Z_95) -> Interval:
    """Newcombe's hybrid score interval of a difference of two independent shares.

    Source: Newcombe 1998, Stat. Med. 17:873, method 10.

    Args:
        one: hits and items of the share that is subtracted from.
        other: hits and items of the share that is subtracted.
        z: as for :func:`wilson`.

    Raises:
        ValueError: as :func:`wilson`.
    """
    a, b = wilson(*one, z), wilson(*other, z)
    share, base = one[0] / one[1], other[0] / other[1]
    gap = share - base
    below = sqrt((share - a.low) ** 2 + (b.high - base) ** 2)
    above = sqrt((a.high - share) ** 2 + (base - b.low) ** 2)
    return Interval(max(gap - below, -1.0), min(gap + above, 1.0))
