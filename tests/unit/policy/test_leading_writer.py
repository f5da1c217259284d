"""Which of several writers of steps speaks for the run."""

import msgspec
import pytest

from pfid.domain.step import StepClock, StepEvent
from pfid.policy.leading_writer import SILENT_EVENTS, Leading, hear


def event(*, clock=StepClock.ARRIVAL, writer="", rank=None):
    return StepEvent(index=1, seconds=1.0, clock=clock, writer=writer, rank=rank)


def heard(*said):
    state, counts, anew = Leading(), True, False
    for ordinal, one in said:
        state, counts, anew = hear(state, ordinal, one)
    return state, counts, anew


@pytest.mark.parametrize("clock", list(StepClock))
def test_the_state_can_be_stored(clock):
    state, _, _ = heard((0, event(clock=clock, rank=2)))
    stored = msgspec.json.encode(state)
    assert msgspec.json.decode(stored, type=Leading) == state


def test_whoever_comes_first_leads_and_copies_do_not_count():
    state, counts, anew = heard((0, event()), (1, event()))
    assert (counts, anew) == (False, False)
    assert state.writer == (0, "")


def test_the_process_itself_outranks_its_log():
    state, counts, anew = heard((0, event()), (1, event(clock=StepClock.REPORTED)))
    assert (counts, anew) == (True, True)
    assert state.writer == (1, "")
    _, counts, _ = hear(state, 0, event())
    assert not counts


def test_a_lower_rank_outranks_a_higher_one():
    state, counts, _ = heard((0, event(writer="r3", rank=3)), (0, event(writer="r0", rank=0)))
    assert counts
    assert state.writer == (0, "r0")


def test_a_leader_that_fell_silent_is_given_up():
    said = [(0, event())] + [(1, event())] * SILENT_EVENTS
    state, counts, anew = heard(*said)
    assert (counts, anew) == (True, True)
    assert state.writer == (1, "")
    state, counts, anew = heard(*said[:-1])
    assert not counts
    assert hear(state, 0, event())[1:] == (True, False)
