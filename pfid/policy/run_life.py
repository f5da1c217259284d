"""The one state a run is in, from what is known of it."""

from dataclasses import dataclass
from typing import Final

from pfid.domain.run import EndKind, RunEnd, RunState

STARTING_AT_MOST_S: Final = 600.0
"""A run that shows no step for so long is not called starting any more."""
_NOBODY_KNOWS: Final = frozenset({EndKind.UNOBSERVED, EndKind.UNKNOWN_STATUS, EndKind.HOST_LOST})


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What a run shows at this moment.

    Attributes:
        end: how it ended, None while it lives.
        suspended: whether the captured process is stopped (state T).
        stalled: whether ``run_stalled`` stands at FAIL.
        steps_seen: optimizer steps so far.
        shows_steps: whether there is a log or a step file that could show any.
        age_s: since its start.
    """

    end: RunEnd | None = None
    suspended: bool = False
    stalled: bool = False
    steps_seen: int = 0
    shows_steps: bool = False
    age_s: float = 0.0


def state_of(signs: Signs) -> RunState:
    """Return the state; exactly one holds."""
    if signs.end is not None:
        return _ended(signs.end)
    if signs.suspended:
        return RunState.SUSPENDED
    if signs.stalled:
        return RunState.STALLED
    waiting = signs.shows_steps and signs.steps_seen == 0 and signs.age_s < STARTING_AT_MOST_S
    return RunState.STARTING if waiting else RunState.RUNNING


def _ended(end: RunEnd) -> RunState:
    if end.kind in _NOBODY_KNOWS:
        return RunState.LOST
    if end.signal is not None:
        return RunState.KILLED
    if end.exit_code is None:
        return RunState.LOST
    return RunState.EXITED if end.exit_code == 0 else RunState.FAILED
