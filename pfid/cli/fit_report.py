"""What a scaling fit says, as one object and as tables (DESIGN, section 9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pfid.analysis.length_orders import OrderCost
from pfid.analysis.regime import Regime, RegimeReading, read_regime
from pfid.analysis.scaling import RESIDUAL_LIMIT, Closure, ScalingFit, Timing
from pfid.analysis.shape_weighting import OBSERVED_TOLERANCE, ShapeWeighted, disagreement
from pfid.cli.output import Cell, facts, table

TRAINER_COEFFICIENT: Final = 0.001
"""QUADRATIC_COST_COEF of transformers' BatchRebalanceSampler, which nobody measured."""
NAMES: Final = {
    Regime.LAUNCH_BOUND: "launch-bound",
    Regime.LINEAR: "linear",
    Regime.MIXED: "mixed",
    Regime.QUADRATIC: "quadratic",
    Regime.NONE: "none",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """The micro-batches that are run, and what the fit makes of them.

    Attributes:
        formed: how they are formed, and their widths.
        batch: records in one.
        accumulation: of them in an optimizer step.
        weighted: None where the fit does not close.
    """

    formed: OrderCost
    batch: int
    accumulation: int
    weighted: ShapeWeighted | None

    @property
    def expected_s(self) -> float | None:
        """Seconds of an optimizer step."""
        return None if self.weighted is None else self.weighted.expected_s * self.accumulation


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """Seconds per step that were seen, and where."""

    seconds: float
    source: str


def fit_json(
    timings: Sequence[Timing],
    fit: ScalingFit,
    *,
    shapes: Shapes | None = None,
    observed: Observed | None = None,
) -> dict[str, Any]:
    """Return everything that can be told."""
    reading = read_regime(timings, fit)
    expected_s = None if shapes is None else shapes.expected_s
    return {
        "a_s_per_token": fit.a_s_per_token,
        "b_s_per_token2": fit.b_s_per_token2,
        "c_s": fit.c_s,
        "a_error": fit.a_error,
        "b_error": fit.b_error,
        "residuals": fit.residuals,
        "closes": fit.closes,
        "closure": fit.closure.value,
        "regime": reading.regime.value,
        "regime_observed": reading.observed and reading.observed.value,
        "regime_fitted": reading.fitted and reading.fitted.value,
        "ratios": reading.ratios,
        "lever": reading.lever,
        "quadratic_share": _by_width(fit, fit.quadratic_share),
        "quadratic_share_error": _by_width(fit, fit.share_error),
        "b_over_a": b_over_a(fit),
        "shapes": shapes and _shapes_json(shapes),
        "expected_seconds": expected_s,
        "observed": observed and _observed_json(observed, expected_s),
        "reason": reason(fit),
        "timings": [{"width": t.width, "seconds": t.seconds} for t in timings],
    }


def b_over_a(fit: ScalingFit) -> float | None:
    """What a quadratic cost weighs beside a linear one; None where no fit closes or A is 0."""
    a, b = fit.a_s_per_token, fit.b_s_per_token2
    return b / a if fit.closes and a and b is not None else None


def reason(fit: ScalingFit) -> str:
    """Say in one sentence why the fit may be read, or why not."""
    worst = max((abs(r.relative) for r in fit.residuals), default=0.0)
    if fit.is_noise and fit.noise is not None:
        width, differ = fit.noise
        return (
            f"does not close: repeats at width {width:,} differ by {differ:.0%}, more than the two "
            f"terms leave ({worst:.1%}): that is noise, so no fixed cost is shown; time more "
            "quietly, or more often"
        )
    match fit.closure:
        case Closure.CLOSES:
            return f"two terms explain every width within {worst:.2%}, so there is no third"
        case Closure.UNDETERMINED:
            return (
                "under three widths any mix of terms fits: undetermined; measure a third, and a "
                "fourth to see a fixed cost"
            )
        case Closure.CONSTANT_TERM:
            return (
                f"does not close: a fixed cost of {fit.c_s:.3g} s is in every step; add it (it is "
                "what launches cost), or restrict the range to widths where it vanishes"
            )
        case Closure.NEGATIVE_TERM:
            return (
                "does not close: a term comes out negative, which cannot be; a fixed cost is in "
                "the narrow widths: add a constant (a fourth width) or restrict the range"
            )
        case Closure.RESIDUALS:
            return (
                f"does not close: residuals of up to {worst:.1%} are over {RESIDUAL_LIMIT:.0%}; "
                f"{_more(fit)}restrict the range, or time more quietly"
            )


def _more(fit: ScalingFit) -> str:
    return "a fixed cost does not explain it; " if fit.c_s is not None else "add a fourth width, "


def agrees(data: dict[str, Any]) -> bool:
    """Whether what was observed, if anything was, fits what was expected, if that is known."""
    return data["observed"] is None or data["observed"]["agrees"] is not False


def print_fit(data: dict[str, Any], reading: RegimeReading, fit: ScalingFit) -> None:
    """Print it for people."""
    facts(_facts(data, reading))
    if fit.residuals:
        table(
            ("width", "seconds", "fit", "residual", "quadratic share"),
            [
                (
                    f"{r.width:,}",
                    f"{r.seconds:.4g}",
                    f"{r.predicted_s:.4g}",
                    f"{r.relative:+.2%}",
                    share_text(fit.quadratic_share(r.width), fit.share_error(r.width)),
                )
                for r in fit.residuals
            ],
        )
    if reading.ratios:
        table(
            ("t(4w)/t(w) at", "ratio", "from"),
            [
                (f"{r.width:,}", f"{r.ratio:.2f}", "the fit" if r.fitted else "timings")
                for r in reading.ratios
            ],
        )


def share_text(share: float | None, error: float | None = None) -> str:
    """A share in percent, with its standard error where there is one."""
    if share is None:
        return "-"
    return f"{share:.1%}" if error is None else f"{share:.1%} +- {error:.1%}"


def _facts(data: dict[str, Any], reading: RegimeReading) -> list[tuple[str, str | Cell]]:
    rows: list[tuple[str, str | Cell]] = [
        ("regime", Cell(NAMES[reading.regime], "bold")),
        ("why", data["reason"]),
        ("lever", reading.lever),
    ]
    if data["a_s_per_token"] is not None:
        rows += [
            ("A", _term(data["a_s_per_token"], data["a_error"], "s/token")),
            ("B", _term(data["b_s_per_token2"], data["b_error"], "s/token^2")),
        ]
    if data["c_s"] is not None:
        rows.append(("C of a three-term fit", f"{data['c_s']:.3g} s"))
    if data["b_over_a"] is not None:
        ships = f"transformers ships {TRAINER_COEFFICIENT:g} as QUADRATIC_COST_COEF"
        rows.append(("B/A", f"{data['b_over_a']:.3g} ({ships})"))
    return rows + _shape_facts(data)


def _shape_facts(data: dict[str, Any]) -> list[tuple[str, str | Cell]]:
    shapes = data["shapes"]
    rows: list[tuple[str, str | Cell]] = []
    if shapes is not None:
        rows.append(("shapes run", _widths_text(shapes)))
        if shapes["quadratic_share"] is not None:
            rows.append(("quadratic share", _weighted_text(shapes)))
        if shapes["extrapolated"]:
            rows.append(("caution", "the widths run lie far outside the widths timed"))
    if data["expected_seconds"] is not None:
        rows.append(("expected step", f"{data['expected_seconds']:.4g} s"))
    if data["observed"] is not None:
        rows.append(("observed step", _observed_text(data["observed"])))
    return rows


def _widths_text(shapes: dict[str, Any]) -> str:
    return (
        f"{shapes['order']}: E[w] {shapes['mean_width']:,.1f}, E[w^2] "
        f"{shapes['mean_square_width']:,.0f}, E[w]^2 {shapes['square_of_mean']:,.0f}, "
        f"ratio {shapes['ratio']:.2f}"
    )


def _weighted_text(shapes: dict[str, Any]) -> str:
    over = shapes["overstatement"]
    by = "" if over is None else f": the worst case overstates it {over:.2f} times"
    return (
        f"{shapes['quadratic_share']:.1%} over the shapes run, {shapes['worst_share']:.1%} at "
        f"{shapes['max_width']:,}{by}"
    )


def _observed_text(observed: dict[str, Any]) -> str:
    text = f"{observed['seconds']:.4g} s ({observed['source']})"
    if observed["disagreement"] is None:
        return f"{text}; nothing to hold it against: give --lengths and a fit that closes"
    by = f"the prediction is {observed['disagreement']:+.1%} off"
    if observed["agrees"]:
        return f"{text}; {by}: it may be used"
    return f"{text}; {by}, over {OBSERVED_TOLERANCE:.0%}: trust nothing that follows from it"


def _term(value: float, error: float | None, unit: str) -> str:
    return f"{value:.3g} {unit}" if error is None else f"{value:.3g} +- {error:.1g} {unit}"


def _by_width(fit: ScalingFit, of: Any) -> dict[str, float]:
    found = {str(r.width): of(r.width) for r in fit.residuals}
    return {width: value for width, value in found.items() if value is not None}


def _shapes_json(shapes: Shapes) -> dict[str, Any]:
    cost, weighted = shapes.formed.cost, shapes.weighted
    return {
        "order": shapes.formed.order.value,
        "batch": shapes.batch,
        "accumulation": shapes.accumulation,
        "padding_waste": cost.waste,
        "mean_width": cost.mean_width,
        "mean_square_width": cost.mean_square_width,
        "square_of_mean": cost.mean_width**2,
        "ratio": cost.square_ratio,
        "max_width": cost.max_width,
        "quadratic_share": weighted and weighted.quadratic_share,
        "worst_share": weighted and weighted.worst_share,
        "overstatement": weighted and weighted.overstatement,
        "extrapolated": weighted and weighted.extrapolated,
    }


def _observed_json(observed: Observed, expected_s: float | None) -> dict[str, Any]:
    off = None if expected_s is None else disagreement(expected_s, observed.seconds)
    return {
        "seconds": observed.seconds,
        "source": observed.source,
        "disagreement": off,
        "agrees": None if off is None else abs(off) <= OBSERVED_TOLERANCE,
    }
