"""The longest gap, phase by phase."""

import msgspec
import pytest

from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.policy.progress import (
    FIRST_GAP_S,
    HALF_LIFE,
    LOG_QUIET_S,
    ProgressState,
    advance,
    begin,
    recount,
    view,
)


def step(index, *, phase=Phase.TRAIN, interval=1):
    return StepEvent(
        index=index, seconds=None, clock=StepClock.ARRIVAL, phase=phase, interval_steps=interval
    )


def stepping(state, times_s, first=1):
    for i, at_s in enumerate(times_s):
        state = advance(state, at_s, event=step(first + i))
    return state


def test_before_the_first_step_it_compiles():
    seen = view(begin(100.0), 160.0)
    assert (seen.phase, seen.steps_seen, seen.last_index) == (Phase.COMPILE, 0, None)
    assert (seen.since_progress_s, seen.in_phase_s) == (60.0, 60.0)
    assert seen.longest_gap_s == {}


def test_the_first_gap_stands_apart():
    state = stepping(begin(100.0), [1000.0, 1010.0, 1030.0])
    assert state.first_gap_s == 900.0
    assert view(state, 1031.0).longest_gap_s == {Phase.TRAIN: 20.0}


def test_a_step_is_progress():
    seen = view(stepping(begin(0.0), [10.0, 20.0]), 27.0)
    assert (seen.since_progress_s, seen.steps_seen, seen.last_index) == (7.0, 2, 2)
    assert seen.phase is Phase.TRAIN


def test_a_phase_that_moves_on_is_progress_and_closes_its_gap():
    state = stepping(begin(0.0), [10.0, 20.0])
    state = advance(state, 25.0, phase=Phase.EVAL)
    assert view(state, 100.0).since_progress_s == 75.0
    assert view(state, 100.0).phase is Phase.EVAL
    state = advance(state, 325.0, phase=Phase.TRAIN)
    state = advance(state, 330.0, event=step(3))
    longest = view(state, 330.0).longest_gap_s
    assert longest[Phase.EVAL] == 300.0
    assert longest[Phase.TRAIN] == pytest.approx(10.0, rel=0.01)


def test_the_same_phase_again_is_no_progress():
    state = advance(stepping(begin(0.0), [10.0, 20.0]), 25.0, phase=Phase.EVAL)
    again = advance(state, 90.0, phase=Phase.EVAL)
    assert view(again, 100.0).since_progress_s == 75.0


def test_a_growing_log_is_no_progress():
    state = advance(stepping(begin(0.0), [10.0, 20.0]), 50.0, log_grew=True)
    assert view(state, 60.0).since_progress_s == 40.0


@pytest.mark.parametrize(
    ("after_s", "growing"), [(0.0, True), (LOG_QUIET_S, True), (LOG_QUIET_S + 0.1, False)]
)
def test_a_log_is_growing_for_a_while(after_s, growing):
    state = advance(begin(0.0), 10.0, log_grew=True)
    assert view(state, 10.0 + after_s).log_growing is growing


def test_a_log_that_never_said_a_word_has_not_fallen_silent():
    assert view(begin(0.0), 1e6).log_growing is None


def test_an_event_says_what_filled_the_gap():
    state = stepping(begin(0.0), [10.0, 20.0])
    state = advance(state, 420.0, event=step(3, phase=Phase.CHECKPOINT))
    longest = view(state, 421.0).longest_gap_s
    assert longest[Phase.CHECKPOINT] == 400.0
    assert longest[Phase.TRAIN] == pytest.approx(10.0, rel=0.01)


def test_a_long_evaluation_does_not_blind_training():
    state = advance(stepping(begin(0.0), [10.0, 20.0]), 21.0, phase=Phase.EVAL)
    state = advance(state, 7221.0, phase=Phase.TRAIN)
    state = stepping(state, [7230.0, 7240.0], first=3)
    assert view(state, 7241.0).longest_gap_s[Phase.TRAIN] <= 10.0


def test_a_stall_that_healed_does_not_excuse_a_longer_one():
    state = stepping(begin(0.0), [10.0, 20.0, 30.0])
    state = advance(state, 36_030.0, event=step(4))
    assert view(state, 36_031.0).longest_gap_s[Phase.TRAIN] == FIRST_GAP_S


def test_steps_that_are_slow_by_nature_are_learnt():
    state = stepping(begin(0.0), [1_000.0 * i for i in range(1, 6)])
    assert view(state, 5_001.0).longest_gap_s[Phase.TRAIN] == pytest.approx(1_000.0, rel=0.01)


def test_a_training_gap_fades():
    state = stepping(begin(0.0), [10.0, 210.0])
    state = stepping(state, [210.0 + i for i in range(1, HALF_LIFE + 1)], first=3)
    assert view(state, 1e4).longest_gap_s[Phase.TRAIN] == pytest.approx(100.0)


def test_intervals_fade_like_their_steps():
    state = stepping(begin(0.0), [10.0, 210.0])
    state = advance(state, 211.0, event=step(2 + HALF_LIFE, interval=HALF_LIFE))
    assert view(state, 211.0).longest_gap_s[Phase.TRAIN] == pytest.approx(100.0)
    assert state.steps_seen == 2 + HALF_LIFE


def test_evaluations_that_come_seldom_are_not_forgotten_between():
    state = advance(stepping(begin(0.0), [1.0, 2.0]), 3.0, phase=Phase.EVAL)
    state = advance(state, 18_003.0, phase=Phase.TRAIN)
    state = stepping(state, [18_003.0 + i for i in range(1, 5_001)], first=3)
    assert view(state, 3e4).longest_gap_s[Phase.EVAL] == 18_000.0


def test_one_long_evaluation_is_forgotten_with_every_shorter_one():
    state = advance(stepping(begin(0.0), [1.0, 2.0]), 3.0, phase=Phase.EVAL)
    state = advance(state, 8_003.0, phase=Phase.TRAIN)
    for i, expected in enumerate((4_000.0, 2_000.0, 1_000.0, 600.0)):
        state = advance(state, 9_000.0 + 1_000 * i, phase=Phase.EVAL)
        state = advance(state, 9_600.0 + 1_000 * i, phase=Phase.TRAIN)
        assert view(state, 2e4).longest_gap_s[Phase.EVAL] == expected


def test_it_is_armed_again_after_a_stall():
    state = stepping(begin(0.0), [10.0, 20.0, 5_000.0, 5_010.0])
    assert view(state, 5_010.0).since_progress_s == 0.0
    assert view(state, 9_010.0).since_progress_s == 4_000.0


def test_a_relaunch_begins_anew():
    old = stepping(begin(0.0), [10.0, 250.0])
    assert old.longest_gap_s
    assert begin(300.0) == ProgressState(started_s=300.0, sign_s=300.0, phase_since_s=300.0)


def test_a_clock_that_stood_still_gives_no_negative_time():
    state = stepping(begin(100.0), [110.0, 105.0])
    seen = view(state, 90.0)
    assert seen.since_progress_s == 0.0
    assert all(gap_s >= 0 for gap_s in seen.longest_gap_s.values())


def test_the_state_can_be_stored():
    state = advance(stepping(begin(0.0), [10.0, 20.0]), 25.0, phase=Phase.EVAL, log_grew=True)
    stored = msgspec.msgpack.encode(state)
    assert msgspec.msgpack.decode(stored, type=ProgressState) == state


def test_a_writer_that_tells_the_same_steps_better_is_no_more_steps():
    state = begin(0.0)
    for second in (1.0, 2.0, 3.0):
        state = advance(state, second, event=step(1))
    anew = recount(state)
    assert (state.steps_seen, anew.steps_seen) == (3, 0)
    anew = advance(anew, 90.0, event=step(1))
    assert anew.steps_seen == 1
    assert anew.first_gap_s == state.first_gap_s == 1.0
    assert anew.longest_gap_s[Phase.TRAIN] == 87.0
