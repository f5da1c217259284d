"""A run's own early steps as a baseline."""

import msgspec
import pytest

from pfid.analysis.early_steps import (
    MIN_STEPS,
    MIN_WALL_S,
    TAKEN_MAX,
    EarlySteps,
    refuse,
    take,
)
from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.domain.step_summary import BaselineSource, SizedBy
from pfid.spec.fakes import step_series


def event(seconds, **more):
    return StepEvent(**{"index": 1, "seconds": seconds, "clock": StepClock.PRINTED, **more})


def after(events):
    state = EarlySteps()
    for one in events:
        state = take(state, one)
    return state


def test_it_needs_enough_steps_after_the_first():
    assert after(step_series((10.0,) * MIN_STEPS)).baseline is None
    taken = after(step_series((10.0,) * (MIN_STEPS + 1))).baseline
    assert (taken.median_s, taken.n) == (10.0, MIN_STEPS)
    assert taken.source is BaselineSource.OWN_EARLY_STEPS


def test_the_first_step_is_left_out_by_position_not_by_size():
    low = after(step_series((0.001, *[10.0] * MIN_STEPS))).baseline
    high = after(step_series((99.0, *[10.0] * MIN_STEPS))).baseline
    assert low == high
    late = after(step_series((10.0, *[10.0] * (MIN_STEPS - 1), 45.79))).baseline
    assert late.n == MIN_STEPS
    assert late.spread == 1.0


def test_fast_steps_must_span_some_time():
    each_s = 0.01
    needed = round(MIN_WALL_S / each_s)
    assert after(step_series((each_s,) * needed)).baseline is None
    taken = after(step_series((each_s,) * (needed + 3))).baseline
    assert taken.median_s == pytest.approx(each_s)
    assert taken.n >= needed


@pytest.mark.parametrize("phase", [p for p in Phase if p is not Phase.TRAIN])
def test_other_phases_are_no_steps(phase):
    events = [event(10.0)] * 40 + [event(999.0, phase=phase)] * 60
    mixed = [e for pair in zip(events[40:80], events[:40], strict=True) for e in pair]
    taken = after([event(1.0), *mixed]).baseline
    assert (taken.median_s, taken.n, taken.spread) == (10.0, MIN_STEPS, 1.0)


def test_events_without_a_duration_are_passed_over():
    assert after([event(None)] * 100).baseline is None


def test_it_is_frozen_once_taken():
    state = after(step_series((10.0,) * 40))
    assert after(step_series((10.0,) * 40 + (500.0,) * 100)).baseline == state.baseline
    assert state.taken == ()


def test_a_run_that_was_judged_slow_is_no_measure():
    state = refuse(after(step_series((10.0,) * 40)))
    assert state.baseline is None
    for one in step_series((10.0,) * 100):
        state = take(state, one)
    assert state.baseline is None


@pytest.mark.parametrize("order", [1, -1])
def test_if_the_regime_changed_on_the_way_the_faster_half_counts(order):
    halves = [(10.0,) * 12, (200.0,) * 20][::order]
    assert after(step_series((1.0, *halves[0], *halves[1]))).baseline.median_s == 10.0


def test_noise_is_no_change_of_regime():
    taken = after(step_series((1.0, *[10.0] * 16, *[25.0] * 16))).baseline
    assert (taken.n, taken.spread) == (32, 2.5)


def test_intervals_count_as_their_steps():
    events = [event(100.0, interval_steps=10)] * 5
    taken = after(events).baseline
    assert (taken.median_s, taken.n) == (10.0, 40)


def test_whole_seconds_need_longer():
    short = [event(2.0, interval_steps=100, clock=StepClock.COUNTER)] * 10
    assert after(short).baseline is None
    assert after(short * 2).baseline.median_s == 0.02


def test_the_spread_is_that_of_nine_in_ten():
    seconds = [10.0] * 28 + [30.0] * 4
    assert after(step_series((1.0, *seconds))).baseline.spread == 3.0


def sized(widths, a=1e-3, b=1e-7, factor=1.0):
    return [
        event(factor * (a * w + b * w * w), index=i, width=w) for i, w in enumerate(widths, start=1)
    ]


def test_widths_give_the_fit_of_the_playbook():
    taken = after(sized([1_000, 4_000, 2_000, 16_000] * 9)).baseline
    assert taken.linear_s_per_width == pytest.approx(1e-3)
    assert taken.quadratic_s_per_width2 == pytest.approx(1e-7)
    assert (taken.sized_by, taken.min_size, taken.max_size) == (SizedBy.WIDTH, 1e3, 16e3)
    assert taken.spread == pytest.approx(1.0)


def test_one_straggler_does_not_bend_the_fit():
    events = sized([1_000, 4_000, 2_000, 16_000] * 9)
    events[7] = event(400.0, index=8, width=2_000)
    taken = after(events).baseline
    assert taken.linear_s_per_width == pytest.approx(1e-3, rel=0.02)


def test_sizes_that_explain_nothing_are_dropped():
    events = [
        event(10.0 if i % 2 else 1.0, index=i, width=w)
        for i, w in enumerate([1_000, 1_000, 8_000, 8_000] * 10)
    ]
    taken = after(events).baseline
    assert (taken.sized_by, taken.linear_s_per_width) == (None, None)
    assert taken.max_size is None


def test_one_width_is_remembered_without_a_fit():
    taken = after(sized([2_048] * 40)).baseline
    assert (taken.sized_by, taken.linear_s_per_width) == (SizedBy.WIDTH, None)
    assert (taken.min_size, taken.max_size) == (2_048, 2_048)


def test_tokens_serve_where_widths_are_not_known():
    events = [
        event(1e-3 * t, index=i, tokens=t * 2, interval_steps=2)
        for i, t in enumerate([1_000, 5_000, 9_000] * 10)
    ]
    taken = after(events).baseline
    assert taken.sized_by is SizedBy.TOKENS
    assert taken.max_size == 9_000


@pytest.mark.parametrize("steps", [1, 20, 40])
def test_the_state_can_be_stored(steps):
    state = after(sized([1_000, 4_000] * steps)[:steps])
    stored = msgspec.msgpack.encode(state)
    assert msgspec.msgpack.decode(stored, type=EarlySteps) == state


def test_what_is_collected_is_bounded():
    state = after(step_series((1e-5,) * 20_000))
    assert state.baseline is None
    assert len(state.taken) < 200


def test_a_few_readings_of_whole_seconds_hold_nothing_up():
    """A bar's clock is believed where it agrees with the arrival, which is not always."""
    whole = event(2.0, interval_steps=140, clock=StepClock.COUNTER)
    fine = [event(0.1, interval_steps=7, clock=StepClock.ARRIVAL)] * 40
    taken = after([event(1.0), whole, whole, *fine]).baseline
    assert taken.median_s == pytest.approx(0.1 / 7)
    assert taken.n == 210


def test_sizes_of_short_steps_are_averaged_with_them():
    events = [event(1e-6 * w, index=i, width=w) for i, w in enumerate([1_000, 3_000, 20_000] * 500)]
    taken = after(events).baseline
    assert taken.sized_by is SizedBy.WIDTH
    assert taken.max_size <= 20_000
    assert taken.linear_s_per_width == pytest.approx(1e-6, rel=0.01)


def test_the_state_of_a_fine_clock_is_not_mixed_with_a_coarse_one():
    coarse = event(0.0, interval_steps=3, clock=StepClock.COUNTER)
    fine = event(0.01, clock=StepClock.ARRIVAL)
    assert [t.coarse for t in after([event(1.0), coarse, fine, coarse]).taken] == [
        True,
        False,
        True,
    ]


def test_steps_that_take_no_time_by_two_clocks_in_turn_do_not_grow_in_memory():
    state = EarlySteps()
    for number in range(3 * TAKEN_MAX):
        clock = StepClock.COUNTER if number % 2 else StepClock.PRINTED
        state = take(state, event(0.0, clock=clock))
    assert len(state.taken) == TAKEN_MAX
    assert state.baseline is None
