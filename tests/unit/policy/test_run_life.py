"""The one state a run is in."""

import pytest

from pfid.domain.run import EndKind, RunEnd, RunState
from pfid.policy.run_life import STARTING_AT_MOST_S, Signs, state_of


def end(kind, code=None, signal=None):
    return RunEnd(kind=kind, exit_code=code, signal=signal, at_s=0.0)


@pytest.mark.parametrize(
    ("signs", "state"),
    [
        (Signs(), RunState.RUNNING),
        (Signs(shows_steps=True, age_s=1.0), RunState.STARTING),
        (Signs(shows_steps=True, age_s=STARTING_AT_MOST_S), RunState.RUNNING),
        (Signs(shows_steps=True, age_s=1.0, steps_seen=1), RunState.RUNNING),
        (Signs(stalled=True), RunState.STALLED),
        (Signs(stalled=True, suspended=True), RunState.SUSPENDED),
        (Signs(end=end(EndKind.EXITED, code=0)), RunState.EXITED),
        (Signs(end=end(EndKind.EXITED, code=1)), RunState.FAILED),
        (Signs(end=end(EndKind.SIGNALED, signal=9)), RunState.KILLED),
        (Signs(end=end(EndKind.OOM_KILLED, signal=9)), RunState.KILLED),
        (Signs(end=end(EndKind.OOM_KILLED, code=1)), RunState.FAILED),
        (Signs(end=end(EndKind.OPERATOR_STOP, signal=15)), RunState.KILLED),
        (Signs(end=end(EndKind.OPERATOR_STOP, code=0)), RunState.EXITED),
        (Signs(end=end(EndKind.OPERATOR_STOP)), RunState.LOST),
        (Signs(end=end(EndKind.UNOBSERVED)), RunState.LOST),
        (Signs(end=end(EndKind.UNKNOWN_STATUS)), RunState.LOST),
        (Signs(end=end(EndKind.HOST_LOST), stalled=True), RunState.LOST),
    ],
)
def test_the_state_of_a_run(signs, state):
    assert state_of(signs) is state
