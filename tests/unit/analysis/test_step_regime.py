"""Has the distribution left its baseline?"""

import dataclasses
import math
import random

import pytest

from pfid.analysis.early_steps import EarlySteps, take
from pfid.analysis.step_regime import (
    READ_EVENTS,
    SPREAD_MAX,
    Regime,
    RegimeLimits,
    SlowLimits,
    after_first,
    median_ratio,
    read_regime,
    with_shift,
)
from pfid.analysis.step_regime_cases import FALLBACK, regime_cases
from pfid.analysis.step_windows import Window
from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.domain.step_summary import Baseline, BaselineSource, SizedBy
from pfid.spec.fakes import step_series
from pfid.spec.limits import shifted, shifts
from pfid.spec.playbook_series import run_1, run_2

LIMITS = RegimeLimits()


def base(median_s=10.0, **more):
    return Baseline(median_s=median_s, source=BaselineSource.EARLIER_RUNS, n=500, **more)


def read(seconds, median_s=10.0, limits=LIMITS, **more):
    return read_regime(step_series(tuple(seconds)), base(median_s, **more), limits)


def regime_of(case, limits):
    events = after_first(case.steps.recent(READ_EVENTS))
    return read_regime(events, case.steps.baseline(), limits).regime


@pytest.mark.parametrize("case", list(regime_cases(LIMITS)), ids=lambda c: c.name)
def test_every_case_is_what_it_says(case):
    assert regime_of(case, LIMITS) is case.regime


@pytest.mark.parametrize("shift", list(shifts(LIMITS)), ids=lambda s: s.mutant)
def test_every_limit_decides_a_case(shift):
    moved = shifted(LIMITS, shift)
    assert any(regime_of(c, moved) is not c.regime for c in regime_cases(LIMITS))


@pytest.mark.parametrize(
    "limits",
    [
        RegimeLimits(held_s=1.0),
        RegimeLimits(held_s=120.0),
        RegimeLimits(shifted_ratio=5.0, slow_ratio=2.0),
        RegimeLimits(window_steps=32),
        RegimeLimits(mode_window_steps=192, mode_share_min=0.1),
        RegimeLimits(mode_ratio=8.0, mode_episodes=5),
    ],
    ids=str,
)
def test_cases_follow_configured_limits(limits):
    wrong = [c.name for c in regime_cases(limits) if regime_of(c, limits) is not c.regime]
    assert not wrong


@pytest.mark.parametrize("series", [run_1(), run_2()], ids=["run 1", "run 2"])
def test_the_playbook_runs_never_fire_at_any_moment_of_their_own(series):
    events, early = step_series(series), EarlySteps()
    for event in events:
        early = take(early, event)
    seen = {
        read_regime(events[max(0, end - READ_EVENTS) : end], early.baseline, LIMITS).regime
        for end in range(40, len(events))
    }
    assert seen == {Regime.NORMAL}


def test_it_fires_on_a_fallback_within_a_few_dozen_steps_and_not_on_its_first():
    events = step_series((*run_2()[:200], *(s * FALLBACK for s in run_2()[:40])))
    seen = [
        read_regime(events[:end], base(19.48), LIMITS).regime for end in range(200, len(events) + 1)
    ]
    first = seen.index(Regime.SHIFTED)
    assert 2 <= first <= 30
    assert set(seen[:first]) <= {Regime.NORMAL, Regime.SLOW}
    assert set(seen[first:]) == {Regime.SHIFTED}


def test_the_real_fallback_of_fast_steps_is_seen_after_half_a_minute():
    slow = int(40 / 0.24)
    assert read([0.014] * 300 + [0.24] * slow, 0.014).regime is Regime.SHIFTED
    assert read([0.014] * 300 + [0.24] * 100, 0.014).regime is Regime.NORMAL


def test_one_new_size_with_its_compile_is_no_fallback():
    """The twin: one recompile of some seconds, then as fast as before."""
    assert read([0.014] * 300 + [6.0] + [0.0145] * 200, 0.014).regime is Regime.NORMAL


def test_it_is_normal_again_when_the_steps_are():
    slow = [10.0] * 50 + [100.0] * 60
    assert read(slow).regime is Regime.SHIFTED
    assert read(slow + [10.0] * 12).regime is not Regime.SHIFTED
    assert read(slow + [10.0] * 100).regime is Regime.NORMAL


def test_a_whole_shift_outranks_slow_and_says_for_how_long():
    reading = read([10.0] * 50 + [40.0] * 60)
    assert reading.regime is Regime.SHIFTED
    assert reading.ratio == 4.0
    assert reading.held_steps >= LIMITS.window_steps
    assert reading.held_s >= LIMITS.held_s


def test_a_second_mode_says_its_share_and_distance():
    reading = read([10.0, 10.0, 10.0, 10.0, 200.0] * 40)
    assert reading.regime is Regime.SECOND_MODE
    assert reading.mode_share == pytest.approx(0.2, abs=0.01)
    assert reading.mode_ratio == pytest.approx(20.0)


def test_a_run_slower_than_expected_from_the_start_is_seen():
    assert read([400.0] * 60, 20.0).regime is Regime.SHIFTED


def test_a_faster_run_is_normal():
    assert read([1.0] * 200).regime is Regime.NORMAL


def test_wide_batches_of_a_wide_run_do_not_fire():
    chance = random.Random(7)
    widely = [10 * math.exp(chance.gauss(0, 0.86)) for _ in range(1500)]
    spread = sorted(widely)[1350] / sorted(widely)[750]
    seen = {
        read(widely[max(0, end - READ_EVENTS) : end], 10.0, spread=spread).regime
        for end in range(40, 1500, 3)
    }
    assert seen == {Regime.NORMAL}


def test_a_wide_spread_hides_no_fallback():
    assert read([10.0] * 50 + [200.0] * 60, spread=1e9).regime is Regime.SHIFTED
    just_below = 10.0 * SPREAD_MAX * 0.99
    assert read([10.0] * 50 + [just_below] * 60, spread=1e9).regime is Regime.NORMAL


def test_long_batches_in_a_row_are_explained_by_their_width():
    curve = base(
        4.0,
        linear_s_per_width=1e-3,
        quadratic_s_per_width2=1e-7,
        sized_by=SizedBy.WIDTH,
        min_size=1_000.0,
        max_size=20_000.0,
    )

    def steps(widths, factor):
        return tuple(
            StepEvent(
                index=i,
                seconds=factor * (1e-3 * w + 1e-7 * w * w),
                clock=StepClock.REPORTED,
                width=w,
            )
            for i, w in enumerate(widths, start=1)
        )

    sorted_by_length = [1_000] * 100 + [20_000] * 60
    assert read_regime(steps(sorted_by_length, 1.0), curve, LIMITS).regime is Regime.NORMAL
    assert read_regime(steps(sorted_by_length, 20.0), curve, LIMITS).regime is Regime.SHIFTED
    unsized = dataclasses.replace(curve, sized_by=None)
    assert read_regime(steps(sorted_by_length, 1.0), unsized, LIMITS).regime is Regime.SHIFTED


def test_pauses_of_other_phases_are_no_steps():
    pauses = tuple(
        dataclasses.replace(e, phase=Phase.SAVE, seconds=500.0) if e.index % 2 else e
        for e in step_series((10.0,) * 200)
    )
    assert read_regime(pauses, base(), LIMITS).regime is Regime.NORMAL


def test_too_few_steps_are_not_normal():
    assert read([10.0] * (LIMITS.window_steps - 1)).regime is Regime.TOO_FEW
    assert read([]).regime is Regime.TOO_FEW


def test_few_long_intervals_have_no_median():
    interval = StepEvent(index=50, seconds=500.0, interval_steps=50, clock=StepClock.PRINTED)
    assert read_regime((interval,) * 3, base(), LIMITS).regime is Regime.TOO_FEW
    assert median_ratio([Window(50, 500.0, 1.0)] * 4, 16) == 1.0


def test_the_first_step_is_left_out_by_position_while_it_is_there():
    events = step_series((45.79, *[20.0] * 99))
    assert after_first(events) == events[1:]
    full = step_series((20.0,) * READ_EVENTS)
    assert after_first(full) == full


@pytest.mark.parametrize(
    ("regime", "bad"),
    [
        (Regime.TOO_FEW, False),
        (Regime.NORMAL, False),
        (Regime.SLOW, True),
        (Regime.SHIFTED, True),
        (Regime.SECOND_MODE, True),
    ],
)
def test_a_bad_regime_has_left_the_baseline(regime, bad):
    assert regime.bad is bad


def test_limits_without_a_shift_are_completed():
    whole = with_shift(SlowLimits(slow_ratio=2.0, held_s=5.0))
    assert (whole.slow_ratio, whole.shifted_ratio, whole.held_s) == (2.0, 4.0, 5.0)
