"""One mode or two: the weighted median, and where a second mode stands apart from the first."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

_CLIMBS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """How values divide into a lower and an upper mode.

    Attributes:
        share: weight of the upper mode, 0..1.
        ratio: median of the upper mode over the lower one.
        episodes: how often the upper mode was entered, in the order of the values.
        apart: whether less than half as much lies in the valley between as above. A long tail
            of ordinary batches has no valley.
    """

    share: float
    ratio: float
    episodes: int
    apart: bool


def weighted_median(values: Sequence[tuple[float, int]]) -> float:
    """Nearest-rank median of (value, weight): a value that happened, never a mean of two.

    Raises:
        ValueError: for no values.
    """
    return at_share(sorted(values), 0.5)


def split(values: Sequence[tuple[float, int]], *, ratio: float, lower_share: float) -> Modes | None:
    """Divide (value, weight), in the order they happened.

    Args:
        values: what happened.
        ratio: how many times the lower mode a value is that belongs to the upper one.
        lower_share: the lower mode must hold at least this share to be one.

    Returns:
        None if nothing reaches the upper mode.
    """
    if not values or max(values)[0] < ratio * min(values)[0]:
        return None
    lower = _lower_mode(sorted(values), ratio, lower_share)
    upper = [(v, n) for v, n in values if v >= lower * ratio]
    if not upper or lower <= 0:
        return None
    total, above = sum(n for _, n in values), sum(n for _, n in upper)
    valley = sum(n for v, n in values if lower * math.sqrt(ratio) <= v < lower * ratio)
    high = [False, *(v >= lower * ratio for v, _ in values)]
    return Modes(
        share=above / total,
        ratio=weighted_median(upper) / lower,
        episodes=sum(after and not before for before, after in pairwise(high)),
        apart=2 * valley < above,
    )


def _lower_mode(ordered: Sequence[tuple[float, int]], ratio: float, share: float) -> float:
    """Climb from the bottom to the median of all that is within ``ratio`` of itself."""
    mode = at_share(ordered, share)
    for _ in range(_CLIMBS):
        higher = weighted_median([(v, n) for v, n in ordered if v <= mode or v < mode * ratio])
        if higher <= mode:
            break
        mode = higher
    return mode


def at_share(ordered: Sequence[tuple[float, int]], share: float) -> float:
    """Nearest-rank value at ``share`` of the weight of ascending (value, weight).

    Raises:
        ValueError: for no values.
    """
    wanted = sum(n for _, n in ordered) * share
    seen = 0
    for value, n in ordered:
        seen += n
        if seen >= wanted - 1e-9:
            return value
    raise ValueError("a share of nothing was asked for")
