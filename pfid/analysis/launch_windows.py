"""Steps timed where work is launched, not where it ends, put together until their time is true.

A program that never waits for its device launches far ahead: of steps of 10 ms it may see 0.017 ms
again and again, and then a long one. Over ``ASYNCHRONOUS_STEPS`` steps the differences add up to
elapsed time all the same, so no single one is ever shown or judged.
"""

from dataclasses import replace

from pfid.analysis.step_windows import ASYNCHRONOUS_STEPS
from pfid.domain.step import Phase, StepClock, StepEvent


class LaunchWindows:
    """Takes the events of one writer; gives back what may be counted."""

    __slots__ = ("_first", "_open")

    def __init__(self, *, begun: bool = False) -> None:
        """Begin before the first step, or go on with a writer whose first step was seen."""
        self._first = not begun
        self._open: StepEvent | None = None

    @property
    def rest(self) -> StepEvent | None:
        """Return the window that has not filled: true as elapsed time, not yet as a step's."""
        return self._open

    def take(self, event: StepEvent) -> StepEvent | None:
        """Return what may be counted now: the event, a window that it closes, or None yet.

        The first event stays by itself: it holds the compile. What other phases than training
        filled is passed on as it is, and the window begins again behind it.
        """
        first, self._first = self._first, False
        joins = event.clock is StepClock.ASYNCHRONOUS and event.phase is Phase.TRAIN
        if first or not joins or event.seconds is None:
            self._open = None
            return event
        window = event if self._open is None else _joined(self._open, event)
        whole = window.interval_steps >= ASYNCHRONOUS_STEPS
        self._open = None if whole else window
        return window if whole else None


def _joined(last: StepEvent, new: StepEvent) -> StepEvent:
    steps = last.interval_steps + new.interval_steps
    return replace(
        new,
        seconds=(last.seconds or 0.0) + (new.seconds or 0.0),
        interval_steps=steps,
        tokens=None if last.tokens is None or new.tokens is None else last.tokens + new.tokens,
        width=_mean_width(last, new, steps),
        report=None,
    )


def _mean_width(last: StepEvent, new: StepEvent, steps: int) -> int | None:
    if last.width is None or new.width is None:
        return None
    return round((last.width * last.interval_steps + new.width * new.interval_steps) / steps)
