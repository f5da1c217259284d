"""The newest steps, few in number and long in time."""

import itertools
import math
from dataclasses import replace

import pytest

from pfid.analysis.recent_steps import CAPACITY, MERGE_BELOW_S, RecentSteps
from pfid.domain.inside import StepReport
from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.spec.fakes import step_series


def event(index, seconds=0.01, **more):
    more.setdefault("clock", StepClock.REPORTED)
    return StepEvent(index=index, seconds=seconds, **more)


def kept(events):
    return RecentSteps(events).last(CAPACITY)


def test_long_steps_are_kept_as_they_are():
    series = step_series((10.0, 0.5, 20.0))
    assert kept(series) == series


def test_only_so_many_are_kept_and_the_newest():
    series = step_series((10.0,) * (CAPACITY + 5))
    assert kept(series) == series[5:]
    assert RecentSteps(series).last(2) == series[-2:]
    assert RecentSteps(series).last(0) == ()


def test_short_steps_become_intervals_and_none_is_lost():
    series = step_series((0.01,) * 1_001)
    found = kept(series)
    assert sum(e.interval_steps for e in found) == 1_001
    assert sum(e.seconds for e in found) == pytest.approx(10.01)
    assert all(e.seconds >= MERGE_BELOW_S - 1e-9 for e in found[1:-1])


def test_when_full_it_spans_long_enough():
    recent = RecentSteps(step_series((0.003,) * 50_000))
    assert len(recent) == CAPACITY
    assert sum(e.seconds for e in recent.last(CAPACITY)) >= (CAPACITY - 2) * MERGE_BELOW_S


def test_the_first_step_stays_alone():
    assert kept(step_series((0.05, 0.01, 0.01)))[0].interval_steps == 1


@pytest.mark.parametrize(
    "other",
    [
        {"phase": Phase.EVAL},
        {"clock": StepClock.ARRIVAL},
        {"writer": "other"},
        {"rank": 1},
        {"index": 9},
        {"seconds": None},
    ],
    ids=str,
)
def test_what_differs_is_not_put_together(other):
    events = [event(1), event(2), event(**{"index": 3, **other})]
    assert kept(events)[1:] == tuple(events[1:])


def test_an_interval_carries_the_sums_of_its_steps():
    found = kept([event(1), event(2, tokens=10, width=100), event(3, tokens=30, width=300)])
    assert (found[-1].index, found[-1].tokens, found[-1].width) == (3, 40, 200)


def test_what_is_not_known_of_one_step_is_not_known_of_the_interval():
    found = kept([event(1), event(2, tokens=10, width=100), event(3)])
    assert (found[-1].interval_steps, found[-1].tokens, found[-1].width) == (2, None, None)


def test_a_loss_that_is_no_number_does_not_get_lost():
    found = kept([event(1), event(2, loss=math.nan), event(3, loss=2.0)])
    assert math.isnan(found[-1].loss)
    found = kept([event(1), event(2, loss=3.0), event(3, loss=2.0)])
    assert found[-1].loss == 2.0


def test_it_goes_on_from_what_it_gave():
    series = step_series((0.03,) * 400)
    assert kept(kept(series)) == kept(series)


def test_it_can_be_emptied_and_filled_again():
    recent = RecentSteps(step_series((10.0, 20.0)))
    recent.clear()
    assert len(recent) == 0
    recent.extend(step_series((30.0,)))
    assert [e.seconds for e in recent] == [30.0]
    assert recent.maxlen == CAPACITY


def test_of_a_run_that_is_over_the_newest_stay_as_they_were():
    recent = RecentSteps(step_series((0.03,) * 400))
    newest = recent.last(64)
    recent.keep(64)
    assert recent.last(CAPACITY) == newest


def test_seconds_of_the_newest_training_steps_pauses_and_untimed_ones_left_out():
    events = [event(i, seconds=float(i), interval_steps=2) for i in range(1, 9)]
    events += [event(9, seconds=None), event(10, seconds=50.0, phase=Phase.EVAL)]
    assert RecentSteps(events).train_seconds(3) == [3.0, 3.5, 4.0]
    assert RecentSteps(events[:8]).train_seconds(3) == [3.0, 3.5, 4.0]
    assert RecentSteps().train_seconds(3) == []


EXTREMES = {
    "index": 2**63,
    "seconds": 1e308,
    "interval_steps": 2**31,
    "rank": 0,
    "tokens": 0,
    "width": 2**40,
    "loss": -math.inf,
    "at_s": 0.0,
    "writer": "bar/\u00fc\n",
}


@pytest.mark.parametrize("missing", [*EXTREMES, None])
def test_whatever_an_event_says_or_does_not_say_comes_back(missing):
    kinds = itertools.product(Phase, StepClock)
    said = {name: value for name, value in EXTREMES.items() if name != missing}
    said = {"index": 7, "seconds": None} | said
    events = [StepEvent(**said | {"phase": phase, "clock": clock}) for phase, clock in kinds]
    expected = [replace(e, index=min(e.index, 2**63 - 1)) for e in events]
    assert list(RecentSteps([event(1), *events]))[1:-1] == expected[:-1]


def test_what_a_step_reports_beside_is_not_kept():
    """Rates are made of it as it comes; nothing that is judged later asks for it."""
    report = StepReport(real_tokens=5)
    events = [event(i, seconds=1.0, report=report) for i in range(9)]
    assert kept(events) == tuple(replace(e, report=None) for e in events)


def test_writers_without_end_take_no_room_without_end():
    events = [event(i, seconds=1.0, writer=f"w{i}") for i in range(5_000)]
    recent = RecentSteps(events)
    assert recent.last(CAPACITY) == tuple(events[-CAPACITY:])
    assert len(recent._older._sorts) <= 1_024
