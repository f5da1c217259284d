"""Step times as evidence: only training, only timed, and no finer than the clock allows.

Some clocks cannot time one step. A progress bar prints whole seconds, so two readings are off by
up to one; asynchronous work is launched in bursts. Their neighbours are put together until the
error is small, and judged as elapsed time over steps.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pfid.analysis.step_size import expected_s
from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.domain.step_summary import Baseline

COARSE_WINDOW_S: Final = 5.0
"""Whole seconds are good to +-20 % over this much."""
ASYNCHRONOUS_STEPS: Final = 16
"""Launches run ahead of the device by a few steps; over this many they cannot."""

_FEWEST: Final = 16


@dataclass(frozen=True, slots=True)
class Window:
    """One or more steps that are judged as a whole.

    Attributes:
        steps: optimizer steps in it.
        seconds: time they took together.
        due_s: time they should have taken; equal to ``seconds`` in units of the baseline.
    """

    steps: int
    seconds: float
    due_s: float

    @property
    def ratio(self) -> float:
        """How many times longer than due."""
        return self.seconds / self.due_s if self.due_s > 0 else 0.0


def timed(events: Iterable[StepEvent]) -> list[StepEvent]:
    """Training steps with a duration; pauses of other phases are not steps."""
    return [e for e in events if e.phase is Phase.TRAIN and e.seconds is not None]


def whole_seconds(event: StepEvent) -> bool:
    """Whether the duration looks like a difference of two readings of whole seconds."""
    return event.clock is StepClock.COUNTER and float(event.seconds or 0.0).is_integer()


def windows(
    events: Sequence[StepEvent], baseline: Baseline, *, steps: int | None = None
) -> list[Window]:
    """Cut ``events`` into windows, oldest first, against what ``baseline`` lets expect.

    They are cut from the newest event backwards; an incomplete oldest window is left out. Where
    the clock is good enough each event is a window of its own.

    Args:
        events: oldest first.
        baseline: what a step should take.
        steps: stop once the windows hold this many, and are ``_FEWEST``; None for all there are.
    """
    kept = timed(events)
    found: list[Window] = []
    missing = math.inf if steps is None else steps
    open_: Window | None = None
    for event in reversed(kept):
        part = _window(event, baseline)
        open_ = part if open_ is None else _join(part, open_)
        least_s = COARSE_WINDOW_S if whole_seconds(event) else 0.0
        if open_.seconds >= least_s and open_.steps >= _least_steps(event):
            found.append(open_)
            missing -= open_.steps
            open_ = None
            if missing <= 0 and len(found) >= _FEWEST:
                break
    found.reverse()
    return found


def _least_steps(event: StepEvent) -> int:
    return ASYNCHRONOUS_STEPS if event.clock is StepClock.ASYNCHRONOUS else 1


def _window(event: StepEvent, baseline: Baseline) -> Window:
    due_s = expected_s(baseline, event) * event.interval_steps
    return Window(event.interval_steps, event.seconds or 0.0, due_s)


def _join(older: Window, newer: Window) -> Window:
    return Window(
        older.steps + newer.steps, older.seconds + newer.seconds, older.due_s + newer.due_s
    )
