"""What a run's step times are held against, and who may say so.

In order: what the owner expects (``--expect-step``), earlier runs of the same name and
fingerprint, a scaling fit measured before (``pfid probe scaling --keep``), this run's own early
steps. The first three outlive the process: "this run's own best" cannot see a run that was slow
from step 0. Nothing at all is None, which is an answer: the check says UNKNOWN, never PASS.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.domain.outcome import Outcome
from pfid.domain.step_fit import StepFit
from pfid.domain.step_summary import Baseline, BaselineSource, SizedBy, StepSummary

MIN_STEPS: Final = 32
"""Steps an earlier run must have before it says anything about the next."""
RECENT_RUNS: Final = 8
"""Earlier runs that are looked at, newest first: older ones describe another machine."""
HANDED_MAX: Final = 16
"""Earlier runs that one message may tell of; more than are looked at, some may not count."""
_COUNT_MAX: Final = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRun:
    """What one earlier run of the same name and fingerprint left behind. Plain data, to be stored.

    Attributes:
        baseline: its own median over the whole run, and the shape of its early steps.
        ended_at_s: wall time of its last step, Unix seconds.
        passed: whether ``step_time_regime`` said PASS of what ``baseline`` tells. A run that was
            itself slow, or of which nobody knows, must not become the baseline that hides the
            next one.
        run_id: which run; what it left last counts. "" for one of which that is not known.
    """

    baseline: Baseline
    ended_at_s: float
    passed: bool
    run_id: str = ""


def earlier_run(
    *,
    summary: StepSummary | None,
    own_early: Baseline | None,
    regime: Outcome | None,
    ended_at_s: float,
    run_id: str = "",
) -> EarlierRun | None:
    """Return what a run leaves to those that come after it; None if it was too short to say.

    A run that left its own early steps behind leaves those: they are what the same command can
    do, and the next one may be slow from its first step. (Early steps of a run that was slow by
    something older are void: :func:`pfid.analysis.early_steps.refuse`.)

    Args:
        summary: statistics of its single steps; None where only intervals were seen.
        own_early: baseline from its own early steps; gives the shape, and the median where there
            is no summary.
        regime: settled outcome of ``step_time_regime``, None if it never settled.
        ended_at_s: wall time of its last step.
        run_id: which run.
    """
    left_own = own_early is not None and regime is Outcome.FAIL
    if own_early is not None and left_own:
        kept = own_early
    elif summary is not None and summary.n >= MIN_STEPS:
        shape = own_early or _plain(summary.p50_s, summary.n)
        kept = replace(shape, median_s=summary.p50_s, n=summary.n, spread=_spread(shape, summary))
    elif own_early is not None:
        kept = own_early
    else:
        return None
    passed = regime is Outcome.PASS or left_own
    return EarlierRun(baseline=kept, ended_at_s=ended_at_s, passed=passed, run_id=run_id)


def newest_of_each(earlier: Iterable[EarlierRun]) -> tuple[EarlierRun, ...]:
    """Of what one run left several times the last; all of those that do not say who they are."""
    found = tuple(earlier)
    last = {r.run_id: r for r in found}
    named = tuple(r for i, r in last.items() if i)
    return (*(r for r in found if not r.run_id), *named)


def believable(earlier: Iterable[EarlierRun]) -> tuple[EarlierRun, ...]:
    """Of what somebody else says earlier runs left, what can be: newest last, not too many."""
    found = [r for r in earlier if _sane(r.baseline) and 0 <= r.baseline.n < _COUNT_MAX]
    return tuple(sorted(found, key=lambda r: r.ended_at_s)[-HANDED_MAX:])


def choose_baseline(
    expected_s: float | None,
    earlier: Iterable[EarlierRun],
    own_early: Baseline | None,
    fitted: Baseline | None = None,
) -> Baseline | None:
    """Choose what this run is held against.

    Args:
        expected_s: seconds per step its owner expects, None if not said.
        earlier: earlier runs of the same name and fingerprint, in any order.
        own_early: from its own early steps (:mod:`pfid.analysis.early_steps`), None until they
            are taken, and for a run that was judged slow against something older.
        fitted: from a scaling fit (:func:`of_fit`).

    Returns:
        The first that exists. Of earlier runs the *lower median* of those that passed: one lucky
        run cannot make every later one look slow, and of two that differ the faster one counts,
        because it shows what the same command can do.
    """
    found = _lower_median(earlier) or fitted or own_early
    return _expectation(expected_s, found) if _usable(expected_s) else found


def of_fit(fit: StepFit | None, *, sized: bool) -> Baseline | None:
    """Make a baseline of a scaling fit.

    Args:
        fit: measured before the run; None if nobody did.
        sized: whether the run says how wide its steps are.

    Returns:
        None where the fit's figures cannot be, or where neither the run's widths are known nor
        what shapes it was to be run with.
    """
    if fit is None or not fit.usable or (fit.expected_s is None and not sized):
        return None
    middle = math.sqrt(fit.narrowest * fit.widest)
    return Baseline(
        median_s=fit.expected_s or fit.a_s_per_token * middle + fit.b_s_per_token2 * middle**2,
        source=BaselineSource.SCALING_FIT,
        n=0,
        linear_s_per_width=fit.a_s_per_token,
        quadratic_s_per_width2=fit.b_s_per_token2,
        sized_by=SizedBy.WIDTH if sized else None,
        min_size=float(fit.narrowest),
        max_size=float(fit.widest),
    )


def _usable(expected_s: float | None) -> bool:
    return expected_s is not None and math.isfinite(expected_s) and expected_s > 0


def _expectation(expected_s: float | None, shape: Baseline | None) -> Baseline:
    """State the expectation; spread and growth with width are borrowed, scaled to it."""
    stated = _plain(expected_s or 0.0, 0)
    if shape is None:
        return stated
    scale = stated.median_s / shape.median_s
    linear, quadratic = shape.linear_s_per_width, shape.quadratic_s_per_width2
    return replace(
        shape,
        median_s=stated.median_s,
        source=BaselineSource.EXPECTED,
        n=0,
        linear_s_per_width=None if linear is None else linear * scale,
        quadratic_s_per_width2=None if quadratic is None else quadratic * scale,
    )


def _spread(shape: Baseline, summary: StepSummary) -> float | None:
    """Spread of the whole run; of its residuals only the early steps know."""
    if shape.linear_s_per_width is not None or summary.p50_s <= 0:
        return shape.spread
    return summary.p90_s / summary.p50_s


def _plain(median_s: float, n: int) -> Baseline:
    return Baseline(median_s=median_s, source=BaselineSource.EXPECTED, n=n)


def _lower_median(earlier: Iterable[EarlierRun]) -> Baseline | None:
    usable = [r for r in earlier if r.passed and r.baseline.n >= MIN_STEPS and _sane(r.baseline)]
    newest = sorted(usable, key=lambda r: r.ended_at_s)[-RECENT_RUNS:]
    if not newest:
        return None
    by_time = sorted(newest, key=lambda r: r.baseline.median_s)
    chosen = by_time[(len(by_time) - 1) // 2].baseline
    return replace(chosen, source=BaselineSource.EARLIER_RUNS)


def _sane(baseline: Baseline) -> bool:
    return math.isfinite(baseline.median_s) and baseline.median_s > 0
