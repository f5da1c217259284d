"""Have the step times left their baseline?"""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pfid_plugins.watch.step_time_regime import judge, observe

from pfid.analysis.early_steps import EarlySteps, take
from pfid.analysis.step_regime import READ_EVENTS, RegimeLimits
from pfid.domain.outcome import Outcome
from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.domain.step_summary import Baseline, BaselineSource, SizedBy
from pfid.policy.baseline import EarlierRun, choose_baseline
from pfid.spec.fakes import CONTROL_SUBJECT, FixedSteps, step_series
from pfid.spec.playbook_series import run_1, run_1_summary, run_2, run_2_summary
from pfid.spec.world import World

LIMITS = RegimeLimits()
EARLIER = BaselineSource.EARLIER_RUNS
TWENTY = Baseline(median_s=20.0, source=EARLIER, n=500)


def said(events, baseline, whole=None):
    steps = FixedSteps(events=tuple(events), held_against=baseline, whole=whole)
    return judge(observe(World(subject=CONTROL_SUBJECT, steps=steps)), LIMITS)


@pytest.mark.parametrize(
    ("series", "whole", "n"), [(run_1(), run_1_summary(), 1_444), (run_2(), run_2_summary(), 1_312)]
)
def test_the_runs_of_the_playbook_pass_with_their_figures(series, whole, n):
    verdict = said(step_series(series), TWENTY, whole)
    assert verdict.outcome is Outcome.PASS
    figures = {name: figure.value for name, figure in verdict.figures.items()}
    assert figures["n"] == n
    assert figures["min"] == 11.84
    assert figures["p50"] == whole.p50_s
    assert figures["p99"] == whole.p99_s
    assert figures["max"] == whole.max_s


def test_the_compile_is_reported_beside():
    verdict = said(step_series(run_1()), TWENTY, run_1_summary())
    assert verdict.figures["first_step"].value == 45.79
    assert verdict.figures["max"].value < 45.79
    assert "first_step" not in said(step_series(run_2()), TWENTY, run_2_summary()).figures


def test_no_baseline_is_unknown_never_pass():
    verdict = said(step_series(run_1()), None, run_1_summary())
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, "no_baseline")


def test_slow_is_a_failure_of_lower_severity():
    verdict = said(step_series((40.0,) * 100), TWENTY)
    assert (verdict.outcome, verdict.reason, verdict.label) == (Outcome.FAIL, "slow", "slow")
    assert said(step_series((400.0,) * 100), TWENTY).label == ""


def test_a_failure_says_how_much_and_against_what():
    verdict = said(step_series((400.0,) * 100), TWENTY)
    assert "20.00 times 20 s (earlier runs)" in verdict.summary
    assert verdict.figures["ratio"].value == 20.0
    assert verdict.figures["baseline"].value == 20.0
    partial = said(step_series((20.0, 20.0, 20.0, 20.0, 400.0) * 30), TWENTY)
    assert "20% of steps take 20.0 times the others" in partial.summary


def test_what_is_not_held_yet_is_said_to_be_so():
    verdict = said(step_series((20.0,) * 100 + (400.0,) * 12), TWENTY)
    assert verdict.outcome is Outcome.PASS
    assert "not for long enough to tell: 20.00 times" in verdict.summary
    assert "long enough" not in said(step_series((20.0,) * 100), TWENTY).summary


@pytest.mark.parametrize("events", [(), step_series((20.0,))])
def test_without_a_second_step_nothing_has_been_timed(events):
    assert said(events, TWENTY).reason == "no_step_times"


def test_a_run_slow_from_its_first_step_is_seen_by_whatever_outlives_it():
    events = step_series(tuple(400.0 for _ in range(200)))
    early = EarlySteps()
    for event in events:
        early = take(early, event)
    blind = choose_baseline(None, [], early.baseline)
    assert said(events, blind).outcome is Outcome.PASS
    remembered = EarlierRun(baseline=TWENTY, ended_at_s=0.0, passed=True)
    for sighted in (
        choose_baseline(20.0, [], early.baseline),
        choose_baseline(None, [remembered], early.baseline),
    ):
        assert said(events, sighted).reason == "shifted"


A, B = 1e-3, 1e-7
SIZED = Baseline(
    median_s=4.0,
    source=EARLIER,
    n=500,
    linear_s_per_width=A,
    quadratic_s_per_width2=B,
    sized_by=SizedBy.WIDTH,
    min_size=256.0,
    max_size=8_192.0,
)


def sized(widths, factor):
    return tuple(
        StepEvent(
            index=i,
            seconds=factor * (A * w + B * w * w),
            clock=StepClock.REPORTED,
            width=w,
        )
        for i, w in enumerate(widths, start=1)
    )


WIDTHS = st.lists(st.integers(64, 65_536), min_size=40, max_size=300)


@given(widths=WIDTHS)
def test_steps_that_their_width_explains_never_fire(widths):
    assert said(sized(widths, 1.0), SIZED).outcome is Outcome.PASS


@given(widths=st.lists(st.integers(256, 8_192), min_size=80, max_size=300))
def test_a_fallback_is_seen_whatever_the_widths(widths):
    assert said(sized(widths, 20.0), SIZED).reason == "shifted"


SECONDS = st.lists(st.floats(0.1, 1e4), min_size=2, max_size=120)


@given(seconds=SECONDS, factor=st.floats(1.0, 50.0))
def test_slower_steps_never_look_healthier(seconds, factor):
    """Against a fixed baseline; a second mode is a matter of shape and stays what it was."""
    order = {"normal": 0, "slow": 1, "second_mode": 2, "shifted": 3}
    before = said(step_series(tuple(seconds)), TWENTY).reason
    after = said(step_series(tuple(s * factor for s in seconds)), TWENTY).reason
    if before in order and after in order:
        assert order[after] >= order[before]


@given(seconds=SECONDS, pauses=st.lists(st.integers(0, 199), max_size=30))
def test_pauses_the_log_names_change_nothing(seconds, pauses):
    events = list(step_series(tuple(seconds)))
    mixed = list(events)
    for at in sorted(pauses, reverse=True):
        pause = dataclasses.replace(events[0], phase=Phase.EVAL, seconds=9e3)
        mixed.insert(1 + at % len(events), pause)
    if len(mixed) < READ_EVENTS:
        assert said(mixed, TWENTY).reason == said(events, TWENTY).reason


@given(seconds=st.lists(st.floats(15.0, 25.0), min_size=60, max_size=200), at=st.integers(1, 199))
def test_one_straggler_never_fires(seconds, at):
    seconds[at % len(seconds)] = 4_000.0
    assert said(step_series(tuple(seconds)), TWENTY).outcome is Outcome.PASS
