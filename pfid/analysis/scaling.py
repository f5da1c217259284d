"""Fit a step's scaling curve t(w) = A*w + B*w^2, and refuse to read one where there is none.

Source: playbook sections 1 and 1.1. Relative least squares, since a width of 512 has as much to
say as one of 16,384. Two points are undetermined; three carry two terms; four let a constant term
show itself. A fit that does not close yields no share: no figure is better than a wrong one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

RESIDUAL_LIMIT: Final = 0.01
"""Largest relative residual at which a fit closes (playbook section 1: "under ~1 %")."""
CONSTANT_SIGMAS: Final = 3.0
"""Standard errors at which a constant term counts as there."""
ROUNDING: Final = 1e-9
"""Share of a step below which a negative term is floating-point dust and counts as zero."""
Floats = NDArray[np.float64]


class Closure(Enum):
    """Whether the two-term fit may be read, and what forbids it."""

    CLOSES = "closes"
    UNDETERMINED = "undetermined"
    NEGATIVE_TERM = "negative_term"
    CONSTANT_TERM = "constant_term"
    RESIDUALS = "residuals_over_limit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One measured step: padded width in tokens, and seconds."""

    width: int
    seconds: float

    def __post_init__(self) -> None:
        """Hold the invariants.

        Raises:
            ValueError: unless width and seconds are positive and finite.
        """
        if self.width < 1 or not 0 < self.seconds < float("inf"):
            raise ValueError(
                f"a timing needs a width >= 1 and seconds > 0, not {self.width}: {self.seconds}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """What the fit leaves at one width; ``relative`` is (predicted - seconds) / seconds."""

    width: int
    seconds: float
    predicted_s: float
    relative: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingFit:
    """The two-term fit and everything needed to doubt it.

    Attributes:
        a_s_per_token: A; None when undetermined.
        b_s_per_token2: B; None when undetermined.
        c_s: constant of the three-term fit, a diagnosis only; None below four widths.
        a_error: standard error of A; None where nothing is left to estimate it from.
        b_error: likewise of B.
        ab_covariance: covariance of A and B, likewise.
        residuals: of the two-term fit, narrowest width first.
        closure: whether it may be read.
        noise: the width whose repeats differ most, and by which share of the fastest; None
            without repeats.
    """

    a_s_per_token: float | None
    b_s_per_token2: float | None
    c_s: float | None
    a_error: float | None
    b_error: float | None
    ab_covariance: float | None
    residuals: tuple[Residual, ...]
    closure: Closure
    noise: tuple[int, float] | None = None

    @property
    def is_noise(self) -> bool:
        """Whether repeats of one width differ by more than the two terms leave unexplained.

        Then neither a fixed cost nor a third term is shown by what is left.
        """
        if self.closes or not self.residuals or self.noise is None:
            return False
        return self.noise[1] >= max(abs(r.relative) for r in self.residuals)

    @property
    def closes(self) -> bool:
        """Whether shares, a regime by fit and predictions may be read off."""
        return self.closure is Closure.CLOSES

    def seconds(self, width: float) -> float | None:
        """Predicted seconds at a width; None unless the fit closes."""
        if not self.closes or self.a_s_per_token is None or self.b_s_per_token2 is None:
            return None
        return self.a_s_per_token * width + self.b_s_per_token2 * width * width

    def quadratic_share(self, width: float) -> float | None:
        """Share of the step that grows with the square, 0..1; None unless the fit closes."""
        total = self.seconds(width)
        if total is None or self.b_s_per_token2 is None:
            return None
        return self.b_s_per_token2 * width * width / total

    def share_error(self, width: float) -> float | None:
        """Standard error of the quadratic share (delta method); None without one of A and B."""
        a, b = self.a_s_per_token, self.b_s_per_token2
        if not self.closes or a is None or b is None:
            return None
        if self.a_error is None or self.b_error is None or self.ab_covariance is None:
            return None
        scale = width / (a + b * width) ** 2
        by_a, by_b = -b * scale, a * scale
        variance = (
            (by_a * self.a_error) ** 2
            + (by_b * self.b_error) ** 2
            + 2 * by_a * by_b * self.ab_covariance
        )
        return float(max(0.0, variance) ** 0.5)


def best_of(timings: Sequence[Timing]) -> tuple[Timing, ...]:
    """The fastest timing of each width, narrowest first: noise only ever adds."""
    best: dict[int, float] = {}
    for timing in timings:
        best[timing.width] = min(timing.seconds, best.get(timing.width, float("inf")))
    return tuple(Timing(width=w, seconds=best[w]) for w in sorted(best))


def fit(timings: Sequence[Timing], *, residual_limit: float = RESIDUAL_LIMIT) -> ScalingFit:
    """Fit A and B over the best timing of each width.

    Args:
        timings: any number per width; repeats give the uncertainty.
        residual_limit: largest relative residual at which the fit closes.

    Returns:
        The fit; below three widths it is UNDETERMINED and carries no term.
    """
    points = best_of(timings)
    if len(points) < 3:
        return _undetermined()
    widths = np.array([p.width for p in points], dtype=np.float64)
    seconds = np.array([p.seconds for p in points], dtype=np.float64)
    design = np.column_stack((widths, widths**2)) / seconds[:, None]
    terms, covariance = _solve(design, _repeat_variance(timings))
    predicted = terms[0] * widths + terms[1] * widths**2
    residuals = tuple(
        Residual(
            width=p.width,
            seconds=p.seconds,
            predicted_s=float(t),
            relative=float(t / p.seconds - 1),
        )
        for p, t in zip(points, predicted, strict=True)
    )
    constant, constant_error = _constant(widths, seconds, timings)
    return ScalingFit(
        a_s_per_token=_undusted(terms[0] * widths[-1], seconds[-1]) / float(widths[-1]),
        b_s_per_token2=_undusted(terms[1] * widths[-1] ** 2, seconds[-1]) / float(widths[-1] ** 2),
        c_s=constant,
        a_error=None if covariance is None else float(covariance[0, 0] ** 0.5),
        b_error=None if covariance is None else float(covariance[1, 1] ** 0.5),
        ab_covariance=None if covariance is None else float(covariance[0, 1]),
        residuals=residuals,
        closure=_closure(terms, residuals, (constant, constant_error), residual_limit),
        noise=_noise(timings),
    )


def of_terms(a_s_per_token: float, b_s_per_token2: float) -> ScalingFit:
    """Take A and B as somebody states them: a fit that closed elsewhere.

    Raises:
        ValueError: unless both are finite, neither is negative and one is above 0.
    """
    terms = (a_s_per_token, b_s_per_token2)
    if not all(0 <= term < float("inf") for term in terms) or not any(terms):
        raise ValueError(f"A and B are finite and not negative, not {terms[0]:g} and {terms[1]:g}")
    return ScalingFit(
        a_s_per_token=a_s_per_token,
        b_s_per_token2=b_s_per_token2,
        c_s=None,
        a_error=None,
        b_error=None,
        ab_covariance=None,
        residuals=(),
        closure=Closure.CLOSES,
    )


def _undusted(part_s: float, whole_s: float) -> float:
    """A part of a step, zero where it is smaller than what rounding leaves."""
    return 0.0 if abs(part_s) < ROUNDING * whole_s else float(part_s)


def _undetermined() -> ScalingFit:
    return ScalingFit(
        a_s_per_token=None,
        b_s_per_token2=None,
        c_s=None,
        a_error=None,
        b_error=None,
        ab_covariance=None,
        residuals=(),
        closure=Closure.UNDETERMINED,
    )


def _noise(timings: Sequence[Timing]) -> tuple[int, float] | None:
    """The width whose repeats differ most, and by how much of the fastest."""
    by_width: dict[int, list[float]] = {}
    for timing in timings:
        by_width.setdefault(timing.width, []).append(timing.seconds)
    differ = [(w, max(g) / min(g) - 1) for w, g in by_width.items() if len(g) > 1 and min(g) > 0]
    return max(differ, key=lambda one: one[1], default=None)


def _repeat_variance(timings: Sequence[Timing]) -> float | None:
    """Pooled relative variance of repeats of one width; None without any repeat."""
    by_width: dict[int, list[float]] = {}
    for timing in timings:
        by_width.setdefault(timing.width, []).append(timing.seconds)
    groups = [np.array(g) / np.mean(g) for g in by_width.values() if len(g) > 1]
    freedom = sum(len(g) - 1 for g in groups)
    return float(sum(np.sum((g - 1) ** 2) for g in groups) / freedom) if freedom else None


def _solve(design: Floats, repeats: float | None) -> tuple[Floats, Floats | None]:
    """Least squares of design @ terms = 1, columns scaled first: w and w^2 are far apart."""
    scale = np.linalg.norm(design, axis=0)
    scaled = design / scale
    terms = np.linalg.lstsq(scaled, np.ones(len(design)), rcond=None)[0]
    freedom = len(design) - design.shape[1]
    left = float(np.sum((scaled @ terms - 1) ** 2) / freedom) if freedom else 0.0
    variance = max(left, repeats or 0.0) if freedom or repeats is not None else None
    solved: Floats = terms / scale
    if variance is None:
        return solved, None
    covariance: Floats = variance * np.linalg.pinv(scaled.T @ scaled) / np.outer(scale, scale)
    return solved, covariance


def _constant(
    widths: Floats, seconds: Floats, timings: Sequence[Timing]
) -> tuple[float | None, float | None]:
    """Constant of the three-term fit with its standard error; both None below four widths."""
    if len(widths) < 4:
        return None, None
    design = np.column_stack((np.ones_like(widths), widths, widths**2)) / seconds[:, None]
    terms, covariance = _solve(design, _repeat_variance(timings))
    return float(terms[0]), None if covariance is None else float(covariance[0, 0] ** 0.5)


def _closure(
    terms: Floats,
    residuals: tuple[Residual, ...],
    constant: tuple[float | None, float | None],
    residual_limit: float,
) -> Closure:
    """What forbids reading the fit, the most telling first."""
    c_s, error_s = constant
    matters = c_s is not None and abs(c_s) > residual_limit * residuals[0].seconds
    if c_s is not None and matters and (error_s or 0.0) * CONSTANT_SIGMAS < abs(c_s):
        return Closure.CONSTANT_TERM
    widest = residuals[-1]
    if min(terms[0] * widest.width, terms[1] * widest.width**2) < -ROUNDING * widest.seconds:
        return Closure.NEGATIVE_TERM
    if max(abs(r.relative) for r in residuals) > residual_limit:
        return Closure.RESIDUALS
    return Closure.CLOSES
