"""Step times of a run, the baseline they are held against, and its progress."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pfid.domain.step import Phase, StepEvent
from pfid.domain.step_summary import Baseline, StepSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How the run moves, whatever the source that shows it.

    Attributes:
        steps_seen: step events of this run so far.
        last_index: the program's own counter, None before the first step.
        since_progress_s: monotonic seconds since the last sign of progress (a step, a log line
            that moved a phase on, or the start).
        phase: what the run is doing now, as far as its log says.
        in_phase_s: monotonic seconds in that phase.
        longest_gap_s: the longest gap between two signs of progress, by the phase that filled it,
            as far as the run has earned it and not forgotten it (pfid.policy.progress).
        log_growing: whether the log grew within the last minute; None if it never grew or there
            is none: a program that never says a word is not known to have fallen silent.
    """

    steps_seen: int
    last_index: int | None
    since_progress_s: float
    phase: Phase
    in_phase_s: float
    longest_gap_s: Mapping[Phase, float]
    log_growing: bool | None = None


class StepsPort(Protocol):
    """The steps of the run under judgement. Nothing here blocks or reads a file."""

    def recent(self, n: int) -> tuple[StepEvent, ...]:
        """Return the last ``n`` events at most, oldest first, of the run's leading writer.

        Neighbouring steps too short to matter by themselves may come as one interval, so that
        few events span a long time (pfid.analysis.recent_steps).
        """
        ...

    def summary(self) -> StepSummary | None:
        """Statistics over the whole run; None before the second timed step."""
        ...

    def baseline(self) -> Baseline | None:
        """Return the best baseline there is; None if there is none, which is an answer too."""
        ...

    def progress(self) -> Progress | None:
        """Return the progress; None when neither log nor step file can be read."""
        ...
