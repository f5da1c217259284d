"""A rate counted several times over: whose doing its changes are (playbook section 4.6.3.1).

Runs of one seed, again, differ by the serving stack alone; runs of other seeds differ by the model
as well. Pooled, nobody can tell which of the two is planned around.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from pfid.analysis.proportion import Z_95, Interval

CHI_SQUARE_95: Final = 1.6448536269514722
"""One-sided: a spread beyond it has one chance in twenty without any cause."""


@dataclass(frozen=True, slots=True, order=True)
class Count:
    """Items that count, of how many. ``hits`` need not be whole: a sum of scores from 0 to 1."""

    hits: float
    n: int

    @property
    def rate(self) -> float:
        """Share."""
        return self.hits / self.n


def pooled(counts: Iterable[Count]) -> Count:
    """All of them together."""
    held = list(counts)
    return Count(sum(c.hits for c in held), sum(c.n for c in held))


def spread(groups: Iterable[Sequence[Count]]) -> float | None:
    """Standard deviation of the rates within groups, each around its own mean.

    None if no group has two counts. One group gives the ordinary sample standard deviation.
    """
    squares, freedom = 0.0, 0
    for group in groups:
        mean = sum(c.rate for c in group) / max(len(group), 1)
        squares += sum((c.rate - mean) ** 2 for c in group)
        freedom += max(len(group) - 1, 0)
    return sqrt(squares / freedom) if freedom else None


def binomial_sd(counts: Sequence[Count]) -> float:
    """What chance alone makes of one rate, over as many items as these have on average."""
    whole = pooled(counts)
    share = min(max(whole.rate, 0.0), 1.0)
    return sqrt(share * (1 - share) * len(counts) / whole.n)


def exceeds_chance(sd: float, expected_sd: float, counts: int) -> bool:
    """Whether rates are further apart than chance would have them in 19 of 20 cases.

    Wilson and Hilferty's approximation of the chi-square distribution (1931).
    """
    if counts < 2:
        return False
    freedom = counts - 1
    part = 2 / (9 * freedom)
    bound = freedom * (1 - part + CHI_SQUARE_95 * sqrt(part)) ** 3
    return freedom * sd**2 > bound * expected_sd**2


def wald(hits: int, n: int, z: float = Z_95) -> Interval:
    """The textbook interval of a share: share plus and minus z standard errors, within 0..1.

    Named so that it is not taken for Wilson's: near 0 and 1 it is too narrow.

    Raises:
        ValueError: unless 0 <= hits <= n and n >= 1.
    """
    if not 0 <= hits <= n or n < 1:
        raise ValueError(f"{hits} of {n} is no share")
    share = hits / n
    half = z * sqrt(share * (1 - share) / n)
    return Interval(max(share - half, 0.0), min(share + half, 1.0))
