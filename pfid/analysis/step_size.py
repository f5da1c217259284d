"""How long a step of a given size should take, so that a long batch is not called slow.

t(w) = A*w + B*w^2 (playbook section 1). A fit that does not close gives no size at all: then the
plain median decides, which is the honest answer (FIELD-NOTES: residuals of 50 %, negative B).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pfid.domain.step import StepEvent
from pfid.domain.step_summary import Baseline, SizedBy

CLOSES_AT: Final = 0.25
"""Largest median residual, as a share of the time, at which a fit still explains it."""
SPREAD: Final = 1.5
"""Largest over smallest size from which on a fit can tell anything."""
STRAGGLER: Final = 2.0
"""A step this many times over a first fit is left out of the second."""


@dataclass(frozen=True, slots=True)
class Curve:
    """t(w) = linear*w + quadratic*w^2, in seconds."""

    linear: float
    quadratic: float

    def at(self, size: float) -> float:
        """Seconds at ``size``."""
        return self.linear * size + self.quadratic * size * size


def size_of(event: StepEvent, by: SizedBy | None) -> float | None:
    """Return the size of one step of ``event``; None if it is not known."""
    if by is SizedBy.WIDTH:
        return _positive(event.width)
    if by is SizedBy.TOKENS and event.tokens is not None:
        return _positive(event.tokens / event.interval_steps)
    return None


def expected_s(baseline: Baseline, event: StepEvent) -> float:
    """Seconds that one step of ``event`` should take.

    Outside the sizes that the baseline rests on it errs towards patience: not less than at the
    smallest size, and growing with the square beyond the largest.
    """
    if baseline.sized_by is None:
        return baseline.median_s
    size = size_of(event, baseline.sized_by)
    low, high = baseline.min_size, baseline.max_size
    if size is None or low is None or high is None:
        return baseline.median_s
    within = _at(baseline, min(max(size, low), high))
    beyond = max(1.0, size / high)
    return within * beyond * beyond


def fit(points: Sequence[tuple[float, float]]) -> Curve | None:
    """Fit (size, seconds) by least relative squares, A and B not negative.

    Returns:
        None if sizes hardly differ, times are not positive or the fit does not close.
    """
    sizes = [w for w, _ in points]
    if len(points) < 3 or max(sizes) < SPREAD * min(sizes) or any(t <= 0 for _, t in points):
        return None
    rough = _solve(points)
    kept = [(w, t) for w, t in points if t <= STRAGGLER * rough.at(w)]
    curve = _solve(kept) if len(kept) >= 3 else rough
    residuals = sorted(abs(curve.at(w) / t - 1) for w, t in points)
    return curve if residuals[len(residuals) // 2] <= CLOSES_AT else None


def _at(baseline: Baseline, size: float) -> float:
    linear, quadratic = baseline.linear_s_per_width, baseline.quadratic_s_per_width2
    if linear is None or quadratic is None:
        return baseline.median_s
    return Curve(linear, quadratic).at(size) or baseline.median_s


def _solve(points: Sequence[tuple[float, float]]) -> Curve:
    """Minimise the sum of (A*w/t + B*w^2/t - 1)^2 over A, B >= 0."""
    rows = [(w / t, w * w / t) for w, t in points]
    aa, ab, bb = (math.fsum(f) for f in zip(*((x * x, x * y, y * y) for x, y in rows), strict=True))
    a1, b1 = math.fsum(x for x, _ in rows), math.fsum(y for _, y in rows)
    determinant = aa * bb - ab * ab
    if determinant > 0:
        linear = (a1 * bb - b1 * ab) / determinant
        quadratic = (aa * b1 - ab * a1) / determinant
        if linear >= 0 and quadratic >= 0:
            return Curve(linear, quadratic)
        if linear < 0:
            return Curve(0.0, b1 / bb)
    return Curve(a1 / aa, 0.0)


def _positive(size: float | None) -> float | None:
    return float(size) if size is not None and math.isfinite(size) and size > 0 else None
