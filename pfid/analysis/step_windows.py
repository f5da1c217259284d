"""Step times as evidence: only training, only timed, and no finer than the clock allows.

Some clocks cannot time one step. A progress bar prints whole seconds, so two readings are off by
up to one; asynchronous work is launched in bursts. Their neighbours are put together until the
error is small, and judged as elapsed time over steps.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from pfid.analysis.step_size import expected_s
from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.domain.step_summary import Baseline

COARSE_WINDOW_S: Final = 5.0
"""Whole seconds are good to +-20 % over this much."""
ASYNCHRONOUS_STEPS: Final = 16
"""Launches run ahead of the device by a few steps; over this many they cannot."""

_FEWEST: Final = 16
_COARSE: Final = frozenset({StepClock.ASYNCHRONOUS, StepClock.COUNTER})


class Window(NamedTuple):
    """One or more steps that are judged as a whole.

    Attributes:
        steps: optimizer steps in it.
        seconds: time they took together.
        ratio: how many times longer than they should have taken.
    """

    steps: int
    seconds: float
    ratio: float


def timed(events: Iterable[StepEvent]) -> list[StepEvent]:
    """Training steps with a duration; pauses of other phases are not steps."""
    return [e for e in events if e.phase is Phase.TRAIN and e.seconds is not None]


def whole_seconds(event: StepEvent) -> bool:
    """Whether the duration looks like a difference of two readings of whole seconds."""
    return event.clock is StepClock.COUNTER and float(event.seconds or 0.0).is_integer()


def windows(
    events: Sequence[StepEvent], baseline: Baseline, *, steps: int, seconds: float
) -> list[Window]:
    """Cut the newest of ``events`` into windows, oldest first, against ``baseline``.

    They are cut from the newest event backwards until they hold ``steps``, ``seconds`` and a few
    windows, or nothing is left; an incomplete oldest window is left out. Where the clock is good
    enough each event is a window of its own.
    """
    found: list[Window] = []
    open_steps, open_s, open_due_s = 0, 0.0, 0.0
    for event in reversed(events):
        if event.seconds is None or event.phase is not Phase.TRAIN:
            continue
        open_steps += event.interval_steps
        open_s += event.seconds
        open_due_s += expected_s(baseline, event) * event.interval_steps
        if event.clock in _COARSE and not _whole(event, open_steps, open_s):
            continue
        found.append(Window(open_steps, open_s, open_s / open_due_s if open_due_s else 0.0))
        steps, seconds = steps - open_steps, seconds - open_s
        open_steps, open_s, open_due_s = 0, 0.0, 0.0
        if steps <= 0 and seconds <= 0 and len(found) >= _FEWEST:
            break
    found.reverse()
    return found


def _whole(event: StepEvent, steps: int, seconds: float) -> bool:
    """Whether a window that ``event`` closes is long enough for its clock."""
    if event.clock is StepClock.ASYNCHRONOUS:
        return steps >= ASYNCHRONOUS_STEPS
    return seconds >= COARSE_WINDOW_S or not whole_seconds(event)
