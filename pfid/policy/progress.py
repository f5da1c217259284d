"""How a run moves: the longest gap it has shown, phase by phase, and the gap it is in.

A sign of progress is a step, or a change of phase. The time between two signs is one gap, and it
belongs to the phase that filled it: an hour of evaluation says nothing about how long a training
step may take (dlrover#1730: one long step switched detection off for the rest of the run).

Two rules keep a phase from going blind by its own past. Training gaps, which hold all that no log
line names, are remembered only up to what the run had earned before, so that one stall that
healed cannot excuse a longer one. And what is remembered fades: in training it halves over
``HALF_LIFE`` steps, in a named phase with every shorter time.

Made afresh at every relaunch: nothing is carried from a run to the next.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from pfid.domain.step import Phase, StepEvent
from pfid.spec.ports.steps import Progress

GROWTH: Final = 4.0
"""A training gap may be remembered as at most this many times the longest one before it."""
FIRST_GAP_S: Final = 300.0
"""What training may be remembered by before it has shown anything, seconds."""
HALF_LIFE: Final = 500
"""Steps after which a remembered training gap counts half."""
LOG_QUIET_S: Final = 60.0
"""A log that has not grown for this long is not growing."""
_FADE: Final = 0.5 ** (1 / HALF_LIFE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressState:
    """Plain data. Times are monotonic seconds of the watcher; void after its boot ends.

    Attributes:
        started_s: when the run was first watched (its start, for a run we launched).
        sign_s: last sign of progress; ``started_s`` before the first.
        phase: what the run is doing; COMPILE until the first step.
        phase_since_s: since when.
        steps_seen: optimizer steps so far.
        last_index: the program's own counter.
        longest_gap_s: by phase, limited and fading as the module says.
        first_gap_s: from start to first step, kept apart; None before it.
        log_grew_s: when the log last grew; None if it never did or there is none.
    """

    started_s: float
    sign_s: float
    phase: Phase = Phase.COMPILE
    phase_since_s: float
    steps_seen: int = 0
    last_index: int | None = None
    longest_gap_s: Mapping[Phase, float] = field(default_factory=dict)
    first_gap_s: float | None = None
    log_grew_s: float | None = None


def begin(monotonic_s: float) -> ProgressState:
    """Start watching a run that started at ``monotonic_s``."""
    return ProgressState(started_s=monotonic_s, sign_s=monotonic_s, phase_since_s=monotonic_s)


def recount(state: ProgressState) -> ProgressState:
    """Count steps anew: who leads now tells the same steps as who was counted so far."""
    return replace(state, steps_seen=0)


def advance(
    state: ProgressState,
    monotonic_s: float,
    *,
    event: StepEvent | None = None,
    phase: Phase | None = None,
    log_grew: bool = False,
) -> ProgressState:
    """Take in what was seen at ``monotonic_s``: a step, a phase the log names, or just growth.

    Growth alone is no progress: a hung run may go on printing warnings. ``phase`` is what the run
    is doing now; None means the log says nothing new. The same phase again changes nothing.
    """
    if log_grew:
        state = replace(state, log_grew_s=monotonic_s)
    if event is not None:
        state = _stepped(state, event, monotonic_s)
    if phase is not None and phase is not state.phase:
        state = _entered(state, phase, monotonic_s)
    return state


def view(state: ProgressState, monotonic_s: float) -> Progress:
    """Return what a check may read at ``monotonic_s``."""
    grew_s = state.log_grew_s
    growing = None if grew_s is None else monotonic_s - grew_s <= LOG_QUIET_S
    return Progress(
        steps_seen=state.steps_seen,
        last_index=state.last_index,
        since_progress_s=max(0.0, monotonic_s - state.sign_s),
        phase=state.phase,
        in_phase_s=max(0.0, monotonic_s - state.phase_since_s),
        longest_gap_s=MappingProxyType(dict(state.longest_gap_s)),
        log_growing=growing,
    )


def _stepped(state: ProgressState, event: StepEvent, now_s: float) -> ProgressState:
    gap_s = max(0.0, now_s - state.sign_s)
    first = state.first_gap_s is None
    filled_by = state.phase if event.phase is Phase.TRAIN else event.phase
    longest = _faded(state.longest_gap_s, event.interval_steps)
    return ProgressState(
        started_s=state.started_s,
        sign_s=now_s,
        phase=Phase.TRAIN,
        phase_since_s=state.phase_since_s if state.phase is Phase.TRAIN else now_s,
        steps_seen=state.steps_seen + event.interval_steps,
        last_index=event.index,
        longest_gap_s=longest if first else _remember(longest, filled_by, gap_s),
        first_gap_s=now_s - state.started_s if first else state.first_gap_s,
        log_grew_s=state.log_grew_s,
    )


def _entered(state: ProgressState, phase: Phase, now_s: float) -> ProgressState:
    """Close the gap of the phase that ends. Before the first step there is only the first gap."""
    gap_s = max(0.0, now_s - state.sign_s)
    longest = state.longest_gap_s
    if state.first_gap_s is not None:
        longest = _remember(longest, state.phase, gap_s)
    return replace(state, phase=phase, phase_since_s=now_s, sign_s=now_s, longest_gap_s=longest)


def _faded(longest: Mapping[Phase, float], steps: int) -> Mapping[Phase, float]:
    if Phase.TRAIN not in longest:
        return longest
    return {**longest, Phase.TRAIN: longest[Phase.TRAIN] * _FADE**steps}


def _remember(longest: Mapping[Phase, float], phase: Phase, gap_s: float) -> Mapping[Phase, float]:
    before_s = longest.get(phase, 0.0)
    if phase is Phase.TRAIN:
        earned_s = max(FIRST_GAP_S, before_s * GROWTH)
        return {**longest, phase: max(before_s, min(gap_s, earned_s))}
    return {**longest, phase: max(before_s / 2, gap_s)}
