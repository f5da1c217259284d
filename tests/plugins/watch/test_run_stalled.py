"""Does the run stand still for longer than it ever does?"""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pfid_plugins.watch.run_stalled import Limits, judge, observe

from pfid.domain.outcome import Outcome
from pfid.domain.run import EndKind, RunEnd, RunState
from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.policy.progress import advance, begin, view
from pfid.spec.fakes import FixedSteps, moving, run_world

LIMITS = Limits()
START = {"phase": Phase.COMPILE, "steps_seen": 0, "last_index": None, "longest_gap_s": {}}


def said(moves, **facts):
    world = dataclasses.replace(run_world(**facts), steps=FixedSteps(moves=moves))
    return judge(observe(world), LIMITS)


@pytest.mark.parametrize(
    ("phase", "floor_s"),
    [
        (Phase.TRAIN, LIMITS.train_s),
        (Phase.EVAL, LIMITS.eval_s),
        (Phase.CHECKPOINT, LIMITS.save_s),
        (Phase.SAVE, LIMITS.save_s),
        (Phase.RESUME_SKIP, LIMITS.skip_s),
        (Phase.COMPILE, LIMITS.start_s),
    ],
)
def test_each_phase_has_a_floor_of_its_own(phase, floor_s):
    at = moving(since_progress_s=floor_s, phase=phase, log_growing=False)
    beyond = moving(since_progress_s=floor_s * 1.001, phase=phase, log_growing=False)
    assert said(at).reason == "moving"
    assert said(beyond).reason == "stalled"


def test_one_phase_excuses_nothing_in_another():
    long_eval = {Phase.EVAL: 1e6, Phase.TRAIN: 2.0}
    still = moving(since_progress_s=LIMITS.train_s + 1, longest_gap_s=long_eval, log_growing=False)
    assert said(still).reason == "stalled"


def test_a_run_with_long_steps_is_given_its_own_time():
    own = {Phase.TRAIN: 1_000.0}
    assert said(moving(since_progress_s=4_900.0, longest_gap_s=own)).reason == "moving"
    silent = moving(since_progress_s=5_100.0, longest_gap_s=own, log_growing=False)
    assert said(silent).reason == "stalled"


def test_data_skipped_for_hours_on_resume_is_no_stall():
    skipping = moving(**{**START, "phase": Phase.RESUME_SKIP, "since_progress_s": 4 * 3600.0})
    assert said(skipping).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("growing", "reason"),
    [(False, "no_first_step"), (True, "no_step_source"), (None, "no_step_source")],
)
def test_without_a_step_only_a_log_that_fell_silent_fails(growing, reason):
    late = moving(**{**START, "since_progress_s": 1e6, "log_growing": growing})
    assert said(late).reason == reason


def test_nothing_to_look_at_is_not_healthy():
    assert said(None).reason == "no_step_source"


@pytest.mark.parametrize("moves", [None, moving(since_progress_s=1e5), moving(**START)])
def test_a_process_in_state_t_is_its_own_reason(moves):
    late = None if moves is None else dataclasses.replace(moves, since_progress_s=1e5)
    assert said(late, state=RunState.SUSPENDED, suspended_s=1e5).reason == "suspended"


@pytest.mark.parametrize("since_s", [5.0, 590.0], ids=["between steps", "late in a slow step"])
def test_somebody_who_presses_ctrl_z_is_not_alarmed_at_once(since_s):
    """How long it has been stopped counts, not how long its last step is ago."""
    moves = moving(since_progress_s=since_s)
    verdict = said(moves, state=RunState.SUSPENDED, suspended_s=1.0)
    assert verdict.reason == "suspended_briefly"


def test_a_run_that_has_ended_does_not_stall():
    end = RunEnd(kind=EndKind.EXITED, exit_code=0, signal=None, at_s=0.0)
    verdict = said(moving(since_progress_s=1e9), end=end)
    assert verdict.outcome is Outcome.NOT_APPLICABLE


def test_it_names_the_phase_and_the_time_allowed():
    verdict = said(moving(since_progress_s=1e6, phase=Phase.EVAL, log_growing=False))
    assert "phase eval" in verdict.summary
    assert verdict.figures["since_progress"].value == 1e6
    assert verdict.figures["allowed"].value == LIMITS.eval_s


def test_a_stall_that_healed_is_seen_again_and_as_soon():
    """dlrover#1730: one long step must not blind it for the rest of the run."""

    def step(state, index, at_s):
        event = StepEvent(index=index, seconds=None, clock=StepClock.ARRIVAL)
        return advance(state, at_s, event=event)

    state = begin(0.0)
    for index in range(1, 100):
        state = step(state, index, 10.0 * index)
    assert said(view(state, 990.0 + 700.0)).reason == "stalled"
    state = step(state, 100, 40_000.0)
    assert said(view(state, 40_001.0)).reason == "moving"
    for index in range(101, 140):
        state = step(state, index, 40_000.0 + 10.0 * (index - 100))
    again = view(state, 40_390.0 + 1_600.0)
    assert said(again).reason == "stalled"


progress = st.builds(
    moving,
    since_progress_s=st.floats(0, 1e6),
    phase=st.sampled_from(Phase),
    steps_seen=st.integers(0, 5),
    longest_gap_s=st.dictionaries(st.sampled_from(Phase), st.floats(0, 1e5)),
    log_growing=st.sampled_from([True, False, None]),
)
STATES = st.sampled_from([RunState.RUNNING, RunState.STALLED, RunState.SUSPENDED])


@given(moves=progress, state=STATES, longer_s=st.floats(0, 1e6))
def test_an_older_sign_is_never_healthier(moves, state, longer_s):
    later = dataclasses.replace(moves, since_progress_s=moves.since_progress_s + longer_s)
    if said(moves, state=state).outcome is Outcome.FAIL:
        assert said(later, state=state).outcome is Outcome.FAIL
    if said(later, state=state).outcome is Outcome.PASS:
        assert said(moves, state=state).outcome is Outcome.PASS


@given(moves=progress, state=STATES)
def test_a_run_without_a_step_is_never_said_to_move(moves, state):
    unseen = dataclasses.replace(moves, steps_seen=0)
    assert said(unseen, state=state).reason != "moving"


def test_a_program_that_shows_no_step_is_not_said_to_compile():
    assert said(moving(**START)).summary.endswith("before its first step")
