"""Percentiles by nearest rank: every figure is an observation, never a value between two."""

from collections.abc import Sequence
from math import ceil
from typing import TypeVar

Number = TypeVar("Number", int, float)


def rank_of(n: int, percent: float) -> int:
    """Return the 1-based nearest rank of ``percent`` among ``n`` observations.

    Args:
        n: number of observations, at least 1.
        percent: above 0 and at most 100; 0 is taken as the smallest.

    Raises:
        ValueError: for no observations or a percentage outside 0..100.
    """
    if n < 1:
        raise ValueError("no observations, no percentile")
    if not 0 <= percent <= 100:
        raise ValueError(f"percent must lie in 0..100, not {percent}")
    # Rounded first, because 99.9 % of 1,000 is 999.0000000000001 in floating point.
    return min(max(ceil(round(n * percent / 100, 9)), 1), n)


def nearest_rank(ordered: Sequence[Number], percent: float) -> Number:
    """Return the observation at the nearest rank of ``percent``; no interpolation (playbook 4.3).

    Args:
        ordered: observations in ascending order.
        percent: 0..100.

    Raises:
        ValueError: for no observations or a percentage outside 0..100.
    """
    return ordered[rank_of(len(ordered), percent) - 1]
