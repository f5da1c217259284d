"""Step times with the playbook's own figures (section 4.3), for controls.

The figures are published, the series are not; these are authored so that nearest rank gives
exactly the published values. Their order is shuffled with a fixed seed: real batches come in no
order.
"""

import math
import random
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Final

from pfid.domain.step_summary import StepSummary

RUN_1_COMPILE_S: Final = 45.79
"""Run 1: 1,445 steps, of which the first carried the compile; it is reported beside."""
RUN_1_N: Final = 1_444
RUN_1_RANKS: Final[Mapping[float, float]] = {50: 19.75, 99: 30.52}
RUN_2_N: Final = 1_312
RUN_2_RANKS: Final[Mapping[float, float]] = {50: 19.48, 99: 28.96}
MIN_S: Final = 11.84
RUN_1_MAX_S: Final = 38.2
"""Not published: any value between p99 and the compile does."""
RUN_2_MAX_S: Final = 45.79
"""Run 2: an ordinary late batch, which stays the maximum."""
RUN_1_P90_S: Final = 28.5425
RUN_2_P90_S: Final = 27.2203
"""Not published: what the authored series have."""
_SEED: Final = 20260826


@cache
def run_1() -> tuple[float, ...]:
    """Run 1 as it happened: the compile first, then 1,444 steps."""
    return (RUN_1_COMPILE_S, *series(RUN_1_N, MIN_S, RUN_1_MAX_S, RUN_1_RANKS))


@cache
def run_2() -> tuple[float, ...]:
    """Run 2 without its first step: 1,312 steps, the longest of them late and ordinary."""
    steps = list(series(RUN_2_N, MIN_S, RUN_2_MAX_S, RUN_2_RANKS))
    steps.remove(RUN_2_MAX_S)
    late = RUN_2_N - 40
    return (*steps[:late], RUN_2_MAX_S, *steps[late:])


def series(
    n: int, smallest: float, largest: float, ranks: Mapping[float, float]
) -> tuple[float, ...]:
    """``n`` values with exactly these nearest-rank figures, in a fixed shuffled order.

    Args:
        n: how many.
        smallest: the minimum.
        largest: the maximum.
        ranks: percentage to the value at its nearest rank, e.g. ``{50: 19.75}``.
    """
    fixed = {1: smallest, n: largest}
    fixed |= {math.ceil(n * percent / 100): value for percent, value in ranks.items()}
    at = sorted(fixed)
    ordered = [smallest]
    for low, high in pairwise(at):
        rise = (fixed[high] - fixed[low]) / (high - low)
        ordered += [round(fixed[low] + rise * k, 4) for k in range(1, high - low)]
        ordered.append(fixed[high])
    random.Random(_SEED).shuffle(ordered)  # noqa: S311 - reproducible order, no secret
    return tuple(ordered)


def run_1_summary() -> StepSummary:
    """Run 1 in the playbook's figures, its compile beside."""
    return StepSummary(
        n=RUN_1_N,
        first_s=RUN_1_COMPILE_S,
        min_s=MIN_S,
        p50_s=RUN_1_RANKS[50],
        p90_s=RUN_1_P90_S,
        p99_s=RUN_1_RANKS[99],
        max_s=RUN_1_MAX_S,
    )


def run_2_summary() -> StepSummary:
    """Run 2 in the playbook's figures; its maximum is an ordinary batch and stays."""
    return StepSummary(
        n=RUN_2_N,
        first_s=None,
        min_s=MIN_S,
        p50_s=RUN_2_RANKS[50],
        p90_s=RUN_2_P90_S,
        p99_s=RUN_2_RANKS[99],
        max_s=RUN_2_MAX_S,
    )
