"""Steps timed at their launch are shown and judged many at a time."""

import pytest

from pfid.analysis.launch_windows import LaunchWindows
from pfid.analysis.step_statistics import StepStatistics
from pfid.analysis.step_windows import ASYNCHRONOUS_STEPS
from pfid.domain.step import Phase, StepClock, StepEvent


def launched(seconds, index=1, **given):
    return StepEvent(index=index, seconds=seconds, clock=StepClock.ASYNCHRONOUS, **given)


def queue(steps, true_s=0.01, depth=25):
    """A queue of ``depth``: launches take no time until it is full, and then wait for all of it."""
    for i in range(steps):
        full = i % depth == depth - 1
        yield launched(true_s * depth - (depth - 1) * 1.7e-5 if full else 1.7e-5, i)


def test_no_figure_is_made_of_a_single_launch():
    windows, statistics = LaunchWindows(), StepStatistics()
    for event in queue(1_000):
        if (window := windows.take(event)) is not None:
            statistics.add(window)
    found = statistics.summary()
    assert found.interval_steps == ASYNCHRONOUS_STEPS
    assert found.p90_s == pytest.approx(0.01, rel=0.6)
    assert statistics.histogram().sum_s == pytest.approx(10, rel=0.05)


def test_the_first_step_stays_by_itself_and_a_resumed_writer_has_none():
    first = launched(9.0)
    assert LaunchWindows().take(first) is first
    assert LaunchWindows(begun=True).take(first) is None


def test_synchronised_steps_pass_as_they_are():
    windows = LaunchWindows(begun=True)
    event = StepEvent(index=1, seconds=1.0, clock=StepClock.REPORTED)
    assert windows.take(event) is event


def test_a_window_adds_up_time_tokens_and_width():
    windows = LaunchWindows(begun=True)
    given = [launched(0.5, i, tokens=10, width=100 + i) for i in range(ASYNCHRONOUS_STEPS)]
    *open_, closed = [windows.take(event) for event in given]
    assert not any(open_)
    assert (closed.seconds, closed.tokens) == (8.0, 160)
    assert closed.interval_steps == ASYNCHRONOUS_STEPS
    assert closed.width == pytest.approx(107, abs=1)
    assert closed.index == ASYNCHRONOUS_STEPS - 1


def test_a_pause_is_passed_on_and_no_window_holds_it():
    windows = LaunchWindows(begun=True)
    for event in queue(10):
        assert windows.take(event) is None
    pause = launched(30.0, phase=Phase.EVAL)
    assert windows.take(pause) is pause
    assert [windows.take(event) for event in queue(15)] == [None] * 15
    assert windows.take(launched(0.01)).seconds < 1
