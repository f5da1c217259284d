"""Between which observations a quartile lies, by their order alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, inf, sqrt

from pfid.analysis.percentiles import rank_of
from pfid.analysis.proportion import Z_95


@dataclass(frozen=True, slots=True)
class QuantileInterval:
    """A quantile of lengths of which some were cut off.

    Attributes:
        low: of a 95 % interval; 0 where there are too few observations for one.
        seen: at the nearest rank, as it was seen.
        at_most: the same if what was cut off had gone on; infinite where nobody can tell.
        high: of the interval; infinite where there are too few, or they were cut off.
    """

    low: float
    seen: float
    at_most: float
    high: float


def quantile_interval(
    lengths: Sequence[float], whole: Sequence[float], percent: float, z: float = Z_95
) -> QuantileInterval:
    """Return the order-statistics interval of a percentile (binomial, normal approximation).

    Source: Conover, Practical Nonparametric Statistics, section 3.2.

    Args:
        lengths: every length in ascending order, those that were cut off as they were seen.
        whole: the same in ascending order, with infinity for those that were cut off.
        percent: above 0 and below 100.
        z: quantile of the normal distribution.

    Raises:
        ValueError: for no observations.
    """
    n, share = len(lengths), percent / 100
    rank = rank_of(n, percent)
    half = z * sqrt(n * share * (1 - share))
    first, last = floor(n * share - half), ceil(n * share + half) + 1
    return QuantileInterval(
        low=lengths[first - 1] if first >= 1 else 0.0,
        seen=lengths[rank - 1],
        at_most=whole[rank - 1],
        high=whole[last - 1] if last <= n else inf,
    )
