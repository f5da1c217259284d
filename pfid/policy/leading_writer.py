"""Which of several writers of steps speaks for the run.

Ranks copy one bar, a log and a step file tell the same steps twice: adding them up would count
steps several times over. What the training process reported itself outranks what was read off a
log, and a lower rank outranks a higher one; otherwise whoever came first leads until it has
fallen silent while another goes on.
"""

from dataclasses import dataclass, replace
from typing import Final

from pfid.domain.step import StepClock, StepEvent

SILENT_EVENTS: Final = 32
"""Events of another writer since the leader's last, after which the leader is given up."""
_FROM_INSIDE: Final = frozenset({StepClock.REPORTED, StepClock.ASYNCHRONOUS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Leading:
    """Plain data.

    Attributes:
        writer: (stream ordinal, writer key) of the leader; None before the first event.
        standing: the leader's rank among writers, lower is better.
        rival: who has been writing since the leader's last event.
        rival_events: how many events of that rival.
    """

    writer: tuple[int, str] | None = None
    standing: tuple[int, int] = (0, 0)
    rival: tuple[int, str] | None = None
    rival_events: int = 0


def hear(state: Leading, ordinal: int, event: StepEvent) -> tuple[Leading, bool, bool]:
    """Take in one event of the stream ``ordinal``.

    Returns:
        The new state, whether the event counts, and whether the leader changed, in which case
        what was counted so far belongs to another writer and is to be begun anew.
    """
    who = (ordinal, event.writer)
    standing = (int(event.clock not in _FROM_INSIDE), event.rank or 0)
    if state.writer is None:
        return Leading(writer=who, standing=standing), True, False
    if who == state.writer:
        if state.rival is None:  # one writer alone, as nearly always
            return state, True, False
        return replace(state, rival=None, rival_events=0), True, False
    if standing < state.standing:
        return Leading(writer=who, standing=standing), True, True
    events = state.rival_events + 1 if who == state.rival else 1
    if events >= SILENT_EVENTS:
        return Leading(writer=who, standing=standing), True, True
    return replace(state, rival=who, rival_events=events), False, False
