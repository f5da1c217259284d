"""What a run is held against."""

import dataclasses
import math

import msgspec
import pytest

from pfid.analysis.step_size import expected_s
from pfid.domain.outcome import Outcome
from pfid.domain.step import StepClock, StepEvent
from pfid.domain.step_fit import StepFit
from pfid.domain.step_summary import Baseline, BaselineSource, SizedBy, StepSummary
from pfid.policy.baseline import (
    HANDED_MAX,
    RECENT_RUNS,
    EarlierRun,
    believable,
    choose_baseline,
    earlier_run,
    newest_of_each,
    of_fit,
)

OWN = Baseline(median_s=30.0, source=BaselineSource.OWN_EARLY_STEPS, n=32, spread=1.4)
SIZED = dataclasses.replace(
    OWN,
    linear_s_per_width=0.002,
    quadratic_s_per_width2=1e-7,
    sized_by=SizedBy.WIDTH,
    min_size=1_000.0,
    max_size=9_000.0,
)


def ran(median_s, *, passed=True, n=500, at_s=0.0):
    baseline = Baseline(median_s=median_s, source=BaselineSource.OWN_EARLY_STEPS, n=n)
    return EarlierRun(baseline=baseline, ended_at_s=at_s, passed=passed)


def summary(**more):
    figures = {"n": 1312, "first_s": 45.0, "min_s": 11.84, "p50_s": 19.48, "p90_s": 27.3}
    return StepSummary(**{**figures, "p99_s": 28.96, "max_s": 45.79, **more})


def test_an_expectation_comes_before_everything():
    chosen = choose_baseline(20.0, [ran(10.0)], OWN)
    assert (chosen.median_s, chosen.source, chosen.n) == (20.0, BaselineSource.EXPECTED, 0)


def test_earlier_runs_come_before_own_early_steps():
    chosen = choose_baseline(None, [ran(10.0)], OWN)
    assert (chosen.median_s, chosen.source, chosen.n) == (10.0, BaselineSource.EARLIER_RUNS, 500)


def test_own_early_steps_are_the_last_resort():
    assert choose_baseline(None, [], OWN) is OWN


def test_nothing_is_none():
    assert choose_baseline(None, [], None) is None


@pytest.mark.parametrize("nonsense", [0.0, -1.0, math.nan, math.inf])
def test_an_expectation_that_is_no_duration_is_passed_over(nonsense):
    assert choose_baseline(nonsense, [ran(10.0)], OWN).median_s == 10.0


def test_a_run_that_was_slow_does_not_hide_the_next():
    assert choose_baseline(None, [ran(400.0, passed=False)], OWN) is OWN
    assert choose_baseline(None, [ran(400.0, passed=False), ran(20.0)], OWN).median_s == 20.0


def test_of_two_that_differ_the_faster_counts():
    assert choose_baseline(None, [ran(400.0), ran(20.0)], None).median_s == 20.0


def test_one_lucky_run_does_not_make_the_others_slow():
    assert choose_baseline(None, [ran(2.0), ran(20.0), ran(21.0)], None).median_s == 20.0


def test_a_short_run_says_nothing():
    assert choose_baseline(None, [ran(2.0, n=31)], None) is None


def test_runs_of_long_ago_are_forgotten():
    old = [ran(5.0, at_s=float(i)) for i in range(3 * RECENT_RUNS)]
    new = [ran(20.0, at_s=1_000.0 + i) for i in range(RECENT_RUNS)]
    assert choose_baseline(None, new + old, None).median_s == 20.0


def test_an_expectation_borrows_how_time_grows_with_width():
    chosen = choose_baseline(60.0, [], SIZED)
    assert chosen.linear_s_per_width == pytest.approx(0.004)
    assert chosen.quadratic_s_per_width2 == pytest.approx(2e-7)
    assert (chosen.sized_by, chosen.max_size, chosen.spread) == (SizedBy.WIDTH, 9_000.0, 1.4)


def test_an_expectation_stands_by_itself():
    chosen = choose_baseline(60.0, [], None)
    assert (chosen.median_s, chosen.sized_by, chosen.spread) == (60.0, None, None)


def test_a_run_leaves_its_median_and_the_shape_of_its_early_steps():
    left = earlier_run(summary=summary(), own_early=SIZED, regime=Outcome.PASS, ended_at_s=7.0)
    assert left.passed
    assert left.ended_at_s == 7.0
    assert (left.baseline.median_s, left.baseline.n) == (19.48, 1312)
    assert left.baseline.linear_s_per_width == 0.002
    assert left.baseline.spread == 1.4


def test_a_run_without_sizes_leaves_the_spread_of_the_whole():
    left = earlier_run(summary=summary(), own_early=None, regime=Outcome.PASS, ended_at_s=0.0)
    assert left.baseline.spread == pytest.approx(27.3 / 19.48)


@pytest.mark.parametrize("regime", [Outcome.FAIL, Outcome.UNKNOWN, None])
def test_only_a_run_that_passed_is_said_to_have(regime):
    left = earlier_run(summary=summary(), own_early=None, regime=regime, ended_at_s=0.0)
    assert not left.passed


def test_intervals_alone_leave_the_early_steps():
    left = earlier_run(summary=None, own_early=OWN, regime=Outcome.PASS, ended_at_s=0.0)
    assert left.baseline is OWN


def test_a_run_too_short_to_say_leaves_nothing():
    short = summary(n=31)
    assert earlier_run(summary=short, own_early=None, regime=None, ended_at_s=0.0) is None


def test_an_earlier_run_can_be_stored():
    left = EarlierRun(baseline=SIZED, ended_at_s=7.0, passed=True)
    assert msgspec.json.decode(msgspec.json.encode(left), type=EarlierRun) == left


FIT = StepFit(
    a_s_per_token=1e-3,
    b_s_per_token2=1e-6,
    narrowest=100,
    widest=10_000,
    expected_s=5.0,
    measured_at_s=0.0,
)


def test_a_fit_comes_after_earlier_runs_and_before_own_early_steps():
    fitted = of_fit(FIT, sized=True)
    assert choose_baseline(None, [ran(10.0)], OWN, fitted).source is BaselineSource.EARLIER_RUNS
    assert choose_baseline(None, [], OWN, fitted) == fitted
    assert choose_baseline(None, [ran(10.0, passed=False)], None, fitted) == fitted
    assert fitted.source is BaselineSource.SCALING_FIT
    stated = choose_baseline(10.0, [], None, fitted)
    assert (stated.median_s, stated.linear_s_per_width) == (10.0, pytest.approx(2e-3))


def test_a_fit_judges_a_step_by_its_width_where_widths_are_known():
    fitted = of_fit(FIT, sized=True)
    wide = StepEvent(index=1, seconds=1.0, clock=StepClock.REPORTED, width=1_000)
    assert expected_s(fitted, wide) == pytest.approx(1e-3 * 1_000 + 1e-6 * 1_000**2)
    assert expected_s(of_fit(FIT, sized=False), wide) == 5.0


@pytest.mark.parametrize(
    ("changes", "sized", "there"),
    [
        ({}, False, True),
        ({"expected_s": None}, True, True),
        ({"expected_s": None}, False, False),
        ({"expected_s": math.nan}, True, False),
        ({"expected_s": 0.0}, True, False),
        ({"a_s_per_token": -1.0}, True, False),
        ({"b_s_per_token2": math.inf}, True, False),
        ({"a_s_per_token": 0.0, "b_s_per_token2": 0.0}, True, False),
        ({"narrowest": 0}, True, False),
        ({"widest": 50}, True, False),
    ],
)
def test_a_fit_that_cannot_be_is_no_baseline(changes, sized, there):
    found = of_fit(dataclasses.replace(FIT, **changes), sized=sized)
    assert (found is not None) is there
    assert of_fit(None, sized=True) is None
    if found is not None:
        assert 0 < found.median_s < math.inf


def test_a_run_that_left_its_own_early_steps_behind_leaves_those():
    left = earlier_run(
        summary=summary(), own_early=OWN, regime=Outcome.FAIL, ended_at_s=7.0, run_id="a"
    )
    assert left == EarlierRun(baseline=OWN, ended_at_s=7.0, passed=True, run_id="a")


def test_of_each_run_what_it_left_last_counts_and_all_that_do_not_say_whose_they_are():
    first, again = (dataclasses.replace(ran(s), run_id="a") for s in (1.0, 2.0))
    other, nameless = dataclasses.replace(ran(3.0), run_id="b"), ran(4.0)
    found = newest_of_each([first, nameless, other, again, nameless])
    assert sorted(r.baseline.median_s for r in found) == [2.0, 3.0, 4.0, 4.0]


@pytest.mark.parametrize("n", [-1, 2**53, 10**30])
@pytest.mark.parametrize("median_s", [0.0, -1.0, math.nan, math.inf])
def test_of_what_others_say_of_earlier_runs_only_what_can_be_is_believed(n, median_s):
    assert believable([ran(20.0, n=n), ran(median_s), ran(20.0)]) == (ran(20.0),)


def test_of_what_others_say_the_newest_are_enough():
    said = [ran(20.0, at_s=float(i)) for i in range(1_000)]
    assert believable(reversed(said)) == tuple(said[-HANDED_MAX:])
