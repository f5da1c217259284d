"""Laws of progress, early steps and regime over whatever steps may come."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis.early_steps import EarlySteps, take
from pfid.analysis.recent_steps import CAPACITY, RecentSteps
from pfid.analysis.step_regime import READ_EVENTS, RegimeLimits, read_regime
from pfid.analysis.step_windows import windows
from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.domain.step_summary import Baseline, BaselineSource, SizedBy
from pfid.policy.progress import ProgressState, advance, begin, view

events = st.builds(
    StepEvent,
    index=st.integers(0, 1 << 40),
    seconds=st.none() | st.floats(0, allow_nan=False),
    clock=st.sampled_from(StepClock),
    interval_steps=st.integers(1, 1_000),
    phase=st.sampled_from(Phase),
    tokens=st.none() | st.integers(0, 1 << 40),
    width=st.none() | st.integers(0, 1 << 20),
    loss=st.none() | st.floats(),
)
many = st.lists(events, max_size=120).map(tuple)
baselines = st.builds(
    Baseline,
    median_s=st.floats(1e-6, 1e6),
    source=st.sampled_from(BaselineSource),
    n=st.integers(0, 100),
    linear_s_per_width=st.none() | st.floats(0, 1e3),
    quadratic_s_per_width2=st.none() | st.floats(0, 1e3),
    sized_by=st.none() | st.sampled_from(SizedBy),
    min_size=st.none() | st.floats(1, 1e3),
    max_size=st.none() | st.floats(1e3, 1e6),
    spread=st.none() | st.floats(1, 1e9),
)


@given(seen=many, baseline=baselines)
def test_whatever_comes_is_read_and_no_step_is_counted_twice(seen, baseline):
    reading = read_regime(seen, baseline, RegimeLimits())
    timed = [e for e in seen if e.phase is Phase.TRAIN and e.seconds is not None]
    assert reading.steps <= sum(e.interval_steps for e in timed)
    assert 0.0 <= reading.mode_share <= 1.0


@given(seen=many, baseline=baselines)
def test_windows_hold_the_newest_steps_and_all_their_time(seen, baseline):
    found = windows(seen, baseline, steps=1 << 60, seconds=float("inf"))
    timed = [e for e in seen if e.phase is Phase.TRAIN and e.seconds is not None]
    held = sum(w.steps for w in found)
    newest = 0
    for event in reversed(timed):
        if newest == held:
            break
        newest += event.interval_steps
    assert newest == held


@given(seen=many)
def test_early_steps_take_whatever_comes_and_can_be_stored(seen):
    state = EarlySteps()
    for event in seen:
        before = state.baseline
        state = take(state, event)
        assert before is None or state.baseline is before
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=EarlySteps) == state


@given(seen=many)
def test_recent_steps_lose_no_step_of_those_they_span(seen):
    recent = RecentSteps(seen)
    kept = recent.last(READ_EVENTS)
    assert len(kept) <= CAPACITY
    assert sum(e.interval_steps for e in kept) == sum(e.interval_steps for e in seen)


signs = st.lists(
    st.tuples(
        st.floats(0, 1e5),
        st.none() | events,
        st.none() | st.sampled_from(Phase),
        st.booleans(),
    ),
    max_size=60,
)


@given(signs=signs, later_s=st.floats(0, 1e6))
def test_no_gap_is_remembered_longer_than_it_was(signs, later_s):
    state, now_s, longest_s = begin(0.0), 0.0, 0.0
    for gap_s, event, phase, grew in signs:
        now_s += gap_s
        longest_s = max(longest_s, now_s - state.sign_s)
        state = advance(state, now_s, event=event, phase=phase, log_grew=grew)
    seen = view(state, now_s + later_s)
    assert all(0 <= g <= longest_s for g in seen.longest_gap_s.values())
    assert seen.since_progress_s >= later_s * (1 - 1e-9) - 1e-6
    stored = msgspec.msgpack.encode(state)
    assert msgspec.msgpack.decode(stored, type=ProgressState) == state
