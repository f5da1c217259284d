"""Name the regime of a step from how it scales, and the lever that regime leaves.

Source: playbook section 1; limits: DESIGN section 10. "Mixed" is an answer, and so is none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pfid.analysis.scaling import Closure, ScalingFit, Timing, best_of

LAUNCH_BOUND_RATIO_MAX: Final = 1.5
LAUNCH_BOUND_RATIO_MIN: Final = 1 / LAUNCH_BOUND_RATIO_MAX
"""Launch-bound is about once the time; a step that gets that much faster shows something else."""
LINEAR_RATIO_MIN: Final = 3.4
LINEAR_RATIO_MAX: Final = 4.6
QUADRATIC_RATIO_MIN: Final = 12.0


class Regime(Enum):
    """What dominates the step."""

    LAUNCH_BOUND = "launch_bound"
    LINEAR = "linear"
    MIXED = "mixed"
    QUADRATIC = "quadratic"
    NONE = "none"
    """No regime can be read: the curve does not close."""


LEVERS: Final = {
    Regime.LAUNCH_BOUND: "CUDA graphs, torch.compile, a bigger batch",
    Regime.LINEAR: "fewer tokens (padding, bucketing); fused elementwise operations",
    Regime.MIXED: "fewer tokens first; then the attention backend, by its share",
    Regime.QUADRATIC: "the attention backend or kernel",
    Regime.NONE: "none yet: measure more widths, more quietly, or a range without a fixed cost",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthRatio:
    """t(4w)/t(w) at one width.

    Attributes:
        width: w.
        ratio: t(4w)/t(w).
        fitted: whether it comes from the fit and not from two timings.
        wider: the width it was measured against; 4w, or the nearest beyond, where the growth from
            w to there is what four times as wide would grow by.
    """

    width: int
    ratio: float
    fitted: bool
    wider: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RegimeReading:
    """The regime, what it was read from, and the lever it leaves.

    Attributes:
        regime: the answer: what was observed where it was, else what the fit says.
        observed: by timings at w and 4w alone; None where no two are so far apart.
        fitted: by a fit that closes; None where none does, or its range is under fourfold.
        ratios: t(4w)/t(w), those observed first.
        lever: what the playbook does about it.
    """

    regime: Regime
    observed: Regime | None
    fitted: Regime | None
    ratios: tuple[WidthRatio, ...]
    lever: str


def of_ratio(ratio: float) -> Regime:
    """Regime of one t(4w)/t(w): mixed between the named bands, none where the time falls."""
    if ratio < LAUNCH_BOUND_RATIO_MIN:
        return Regime.NONE
    if ratio <= LAUNCH_BOUND_RATIO_MAX:
        return Regime.LAUNCH_BOUND
    if ratio >= QUADRATIC_RATIO_MIN:
        return Regime.QUADRATIC
    if LINEAR_RATIO_MIN <= ratio <= LINEAR_RATIO_MAX:
        return Regime.LINEAR
    return Regime.MIXED


def read_regime(timings: Sequence[Timing], fit: ScalingFit) -> RegimeReading:
    """Read the regime from measured pairs where there are any, else from a fit that closes.

    Launch-bound is the one regime that a two-term fit cannot show (it has no constant), so it is
    named from measured pairs alone; every other regime needs a fit that closes. What is too little
    to fit at all names none.
    """
    seen, computed = observed_ratios(timings), fitted_ratios(timings, fit)
    observed, fitted = _common(seen), _common(computed)
    flat = observed is Regime.LAUNCH_BOUND and _level(timings)
    flat = flat and fit.closure is not Closure.UNDETERMINED
    named = observed or fitted if flat or fit.closes else None
    regime = named or Regime.NONE
    return RegimeReading(
        regime=regime,
        observed=observed,
        fitted=fitted,
        ratios=seen + computed,
        lever=LEVERS[regime],
    )


def _level(timings: Sequence[Timing]) -> bool:
    """Whether no two widths within a fourfold differ by more than launch-bound ones may."""
    points = best_of(timings)
    return all(
        LAUNCH_BOUND_RATIO_MIN <= wider.seconds / point.seconds <= LAUNCH_BOUND_RATIO_MAX
        for point in points
        for wider in points
        if point.width < wider.width <= 4 * point.width
    )


def _common(ratios: Sequence[WidthRatio]) -> Regime | None:
    """The regime of all ratios; mixed where they differ, None without any."""
    named = {of_ratio(r.ratio) for r in ratios}
    if len(named) > 1:
        return Regime.MIXED
    return named.pop() if named else None


def observed_ratios(timings: Sequence[Timing]) -> tuple[WidthRatio, ...]:
    """t(4w)/t(w) at each width for which a width at least four times as wide was measured."""
    points = best_of(timings)
    found = []
    for point in points:
        beyond = next((p for p in points if p.width >= 4 * point.width), None)
        if beyond is not None:
            grown = math.log(beyond.seconds / point.seconds)
            wider = math.log(beyond.width / point.width)
            ratio = math.exp(grown * math.log(4) / wider)
            found.append(
                WidthRatio(width=point.width, ratio=ratio, fitted=False, wider=beyond.width)
            )
    return tuple(found)


def fitted_ratios(timings: Sequence[Timing], fit: ScalingFit) -> tuple[WidthRatio, ...]:
    """t(4w)/t(w) by the fit, at each width whose fourfold lies inside the measured range."""
    widths = [t.width for t in best_of(timings)]
    found = []
    for width in widths:
        here, there = fit.seconds(width), fit.seconds(4 * width)
        if here and there and 4 * width <= widths[-1]:
            found.append(WidthRatio(width=width, ratio=there / here, fitted=True, wider=4 * width))
    return tuple(found)
