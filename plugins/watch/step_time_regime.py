"""Fail when the distribution of step times has left its baseline.

``shifted``: the median of the last 16 steps has been at 3 times the baseline for 16 steps and half
a minute (a silent dynamo fallback is x20). ``second_mode``: 5-95 % of steps take 5 times the
others, again and again (a partial fallback). ``slow``: as shifted, from 1.5 times on; labelled
``slow``, severity info. The baseline is ``--expect-step``, else earlier runs of the same name
and fingerprint, else a fit that ``pfid probe scaling --keep`` measured for the name, else this
run's own early steps; without one it is UNKNOWN, never PASS. Where widths or tokens are known, what
is judged is how far a step is from t(w) = A*w + B*w^2.

Blind spot: a run that is slow from its first step with no baseline that outlives it; give it
``--expect-step`` or keep a fit for its name. Where sizes are not known, a schedule that changes
them cannot be told from a slowdown. Pauses that the log names (evaluation, checkpoint) are no
steps; a run that makes no steps at all is ``run_stalled``.

When it fires: ``pfid steps LOG`` shows the segments. Look at ``recompile_limit`` first, then for a
neighbour on the GPU, a lowered power limit, a slow disk. If the change is meant, relaunch with
another ``--name`` or state ``--expect-step``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.analysis.step_figures import of_reading, of_summary, sentence
from pfid.analysis.step_regime import READ_EVENTS, Regime, RegimeLimits, after_first, read_regime
from pfid.analysis.step_regime_cases import regime_cases
from pfid.domain.step import StepEvent
from pfid.domain.step_summary import Baseline, StepSummary
from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    Hysteresis,
    Outcome,
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    reported,
)
from pfid.spec.fakes import CONTROL_SUBJECT, FixedSteps, step_series

ANSWERS: Final = Answers(
    {
        "normal": (Outcome.PASS, "step times are those of the baseline"),
        "shifted": (Outcome.FAIL, "the whole distribution of step times has left the baseline"),
        "second_mode": (Outcome.FAIL, "step times have a second, much slower mode"),
        "slow": (Outcome.FAIL, "steps are slower than the baseline"),
        "no_baseline": (Outcome.UNKNOWN, "there is nothing to hold the step times against"),
        "too_few_steps": (Outcome.UNKNOWN, "too few steps have been timed"),
        "no_step_times": (Outcome.UNKNOWN, "no step has been timed"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The newest steps without the first, and what they are held against."""

    events: tuple[StepEvent, ...]
    baseline: Baseline | None
    whole: StepSummary | None = reported()  # noqa: RUF009 - a field, not a default


def observe(world: World) -> Seen:
    """Read steps, baseline and the statistics that are shown beside."""
    return Seen(
        events=after_first(world.steps.recent(READ_EVENTS)),
        baseline=world.steps.baseline(),
        whole=world.steps.summary(),
    )


def judge(seen: Seen, limits: RegimeLimits) -> Verdict:
    """Say which regime the steps are in."""
    if not any(e.seconds is not None for e in seen.events):
        return ANSWERS.say("no_step_times")
    if seen.baseline is None:
        return ANSWERS.say("no_baseline", figures=of_summary(seen.whole))
    reading = read_regime(seen.events, seen.baseline, limits)
    return ANSWERS.say(
        reading.regime.value,
        sentence(reading, seen.baseline),
        figures={**of_reading(reading, seen.baseline), **of_summary(seen.whole)},
        label="slow" if reading.regime is Regime.SLOW else "",
    )


def controls(limits: RegimeLimits) -> Iterable[Control]:
    """The playbook's runs, both sides of each limit, and what has fooled others."""
    for case in regime_cases(limits):
        yield _control(case.name, case.regime.value, case.steps)
    steady = FixedSteps(events=step_series((20.0,) * 200))
    yield _control("nothing_to_compare", "no_baseline", steady)
    counted = tuple(replace(e, seconds=None) for e in steady.events)
    yield _control("only_counters", "no_step_times", FixedSteps(events=counted))


def _control(name: str, code: str, steps: FixedSteps) -> Control:
    world = World(subject=CONTROL_SUBJECT, steps=steps)
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="step_time_regime",
        stage=Stage.WATCH,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        milder={"slow": Severity.INFO},
        controls=controls,
        limits=RegimeLimits(),
        hysteresis=Hysteresis(clear_k=2),
        cadence_s=5.0,
        reads=("steps",),
        runbook=__doc__,
    )
