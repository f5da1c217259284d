"""Step times of a run in a few figures, and what they are held against."""

from dataclasses import dataclass
from enum import Enum


class BaselineSource(Enum):
    """Where a baseline comes from, best first."""

    EXPECTED = "expected"
    EARLIER_RUNS = "earlier_runs"
    SCALING_FIT = "scaling_fit"
    OWN_EARLY_STEPS = "own_early_steps"


class SizedBy(Enum):
    """What the size of a step is counted in, where it is known at all."""

    WIDTH = "width"
    TOKENS = "tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What a step of this run should take.

    Attributes:
        median_s: seconds per optimizer step.
        source: where it comes from.
        n: how many steps it rests on; 0 for an expectation somebody stated.
        linear_s_per_width: A of t(w) = A*w + B*w^2, None without a fit.
        quadratic_s_per_width2: B likewise.
        sized_by: what ``w`` is: padded width, or tokens of a step; None if sizes are not known
            or do not explain the times.
        min_size: smallest size it rests on, None without sizes.
        max_size: largest size it rests on, None without sizes.
        spread: its 90th percentile over its median (of the residual where sizes explain the
            times); a run of wide batches has wide medians. None if not known.
    """

    median_s: float
    source: BaselineSource
    n: int
    linear_s_per_width: float | None = None
    quadratic_s_per_width2: float | None = None
    sized_by: SizedBy | None = None
    min_size: float | None = None
    max_size: float | None = None
    spread: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSummary:
    """Nearest-rank statistics of steps, the first step out by position.

    Every value is a step that happened; unit: seconds per optimizer step.

    Attributes:
        n: steps counted, the first not among them.
        first_s: the first step, reported beside; None if it was not timed.
        min_s: smallest.
        p50_s: nearest-rank median.
        p90_s: nearest-rank 90th percentile.
        p99_s: nearest-rank 99th percentile.
        max_s: largest.
        rank_error: largest share of n by which a reported rank may be off; 0 when exact.
        interval_steps: 1 for single steps; more where the run logs only intervals and each value
            is the mean over that many steps (n counts intervals then).
        other_steps: timed steps that none of these figures speaks of: those known only in means
            over several, or single ones where the means are more.
    """

    n: int
    first_s: float | None
    min_s: float
    p50_s: float
    p90_s: float
    p99_s: float
    max_s: float
    rank_error: float = 0.0
    interval_steps: int = 1
    other_steps: int = 0
