"""Name the regime of a step from how it scales, and the lever that regime leaves.

Source: playbook section 1; limits: DESIGN section 10. "Mixed" is an answer, and so is none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pfid.analysis.scaling import ScalingFit, Timing, best_of

LAUNCH_BOUND_RATIO_MAX: Final = 1.5
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
    Regime.NONE: "none yet: measure more widths, or a range without a fixed cost",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WidthRatio:
    """t(4w)/t(w) at one width; ``fitted`` if it comes from the fit and not from two timings."""

    width: int
    ratio: float
    fitted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RegimeReading:
    """The regime, the ratios it was read from, and the lever it leaves."""

    regime: Regime
    ratios: tuple[WidthRatio, ...]
    lever: str


def of_ratio(ratio: float) -> Regime:
    """Regime of one t(4w)/t(w); between the named bands it is mixed."""
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
    named from measured pairs alone; every other regime needs a fit that closes.
    """
    ratios = observed_ratios(timings)
    if ratios and all(of_ratio(r.ratio) is Regime.LAUNCH_BOUND for r in ratios):
        return _reading(Regime.LAUNCH_BOUND, ratios)
    if not fit.closes:
        return _reading(Regime.NONE, ratios)
    ratios = ratios or fitted_ratios(timings, fit)
    named = {of_ratio(r.ratio) for r in ratios}
    return _reading(named.pop() if len(named) == 1 else Regime.MIXED, ratios)


def observed_ratios(timings: Sequence[Timing]) -> tuple[WidthRatio, ...]:
    """Every t(4w)/t(w) for which both widths were measured, narrowest first."""
    best = {t.width: t.seconds for t in best_of(timings)}
    return tuple(
        WidthRatio(width=w, ratio=best[4 * w] / s, fitted=False)
        for w, s in sorted(best.items())
        if 4 * w in best
    )


def fitted_ratios(timings: Sequence[Timing], fit: ScalingFit) -> tuple[WidthRatio, ...]:
    """t(4w)/t(w) by the fit, at each width whose fourfold lies inside the measured range."""
    widths = [t.width for t in best_of(timings)]
    found = []
    for width in widths:
        here, there = fit.seconds(width), fit.seconds(4 * width)
        if here and there and 4 * width <= widths[-1]:
            found.append(WidthRatio(width=width, ratio=there / here, fitted=True))
    return tuple(found)


def _reading(regime: Regime, ratios: tuple[WidthRatio, ...]) -> RegimeReading:
    return RegimeReading(regime=regime, ratios=ratios, lever=LEVERS[regime])
