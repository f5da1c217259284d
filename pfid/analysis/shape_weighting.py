"""Predict a step from the shapes it is really run with: E[t] = A*E[w] + B*E[w^2].

Source: playbook section 1.2. w is the padded width of the micro-batches actually formed; a figure
at the widest shape that can be built overstates the quadratic term (about 1.3 times there).
"""

from dataclasses import dataclass
from typing import Final

from pfid.analysis.padding import PaddingCost
from pfid.analysis.scaling import ScalingFit

OBSERVED_TOLERANCE: Final = 0.10
"""Relative disagreement with an observed step from which on the prediction is not to be trusted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeWeighted:
    """A step over a distribution of widths.

    Attributes:
        expected_s: mean seconds of a micro-batch.
        quadratic_share: share of it that grows with the square, 0..1.
        worst_share: the same share at the widest micro-batch.
        overstatement: worst_share over quadratic_share; None where there is no quadratic part.
        extrapolated: whether the widest micro-batch lies beyond twice the widest one timed, or
            the mean one below half the narrowest; None where nobody says what was timed.
    """

    expected_s: float
    quadratic_share: float
    worst_share: float
    overstatement: float | None
    extrapolated: bool | None


def weigh(fit: ScalingFit, shapes: PaddingCost) -> ShapeWeighted | None:
    """Weigh a fit with the micro-batches of an order; None unless the fit closes."""
    worst = fit.quadratic_share(shapes.max_width)
    if worst is None or fit.a_s_per_token is None or fit.b_s_per_token2 is None:
        return None
    quadratic = fit.b_s_per_token2 * shapes.mean_square_width
    expected = fit.a_s_per_token * shapes.mean_width + quadratic
    share = quadratic / expected
    return ShapeWeighted(
        expected_s=expected,
        quadratic_share=share,
        worst_share=worst,
        overstatement=worst / share if share > 0 else None,
        extrapolated=_beyond(fit, shapes),
    )


def _beyond(fit: ScalingFit, shapes: PaddingCost) -> bool | None:
    if not fit.residuals:
        return None
    narrowest, widest = fit.residuals[0].width, fit.residuals[-1].width
    return shapes.max_width > 2 * widest or shapes.mean_width < narrowest / 2


def disagreement(expected_s: float, observed_s: float) -> float:
    """Return (expected - observed) / observed."""
    return expected_s / observed_s - 1
