"""The newest steps of a run, bounded in number and still long in time.

A rule that must hold for half a minute cannot be judged on the last 512 steps of a program that
makes a hundred a second. Neighbours too short to matter by themselves are kept as one interval,
so that ``CAPACITY`` events always span at least ``CAPACITY * MERGE_BELOW_S`` seconds.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from pfid.domain.step import StepEvent

CAPACITY: Final = 512
MERGE_BELOW_S: Final = 0.1


class RecentSteps:
    """Events of one writer, newest last. About 100 KB when full."""

    __slots__ = ("_events",)

    def __init__(self, events: Iterable[StepEvent] = ()) -> None:
        """Begin with ``events``, as :meth:`last` gave them before a restart."""
        self._events: deque[StepEvent] = deque(maxlen=CAPACITY)
        self.extend(events)

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[StepEvent]:
        return iter(self._events)

    @property
    def maxlen(self) -> int:
        """How many events are kept at most."""
        return CAPACITY

    def clear(self) -> None:
        """Forget everything: another writer leads now."""
        self._events.clear()

    def extend(self, events: Iterable[StepEvent]) -> None:
        """Take several events in."""
        for event in events:
            self.append(event)

    def append(self, event: StepEvent) -> None:
        """Take one event in."""
        last = self._events[-1] if self._events else None
        # The first event stays alone: it holds the compile and is left out by position.
        if last is None or len(self._events) < 2 or not _mergeable(last, event):
            self._events.append(event)
        else:
            self._events[-1] = _joined(last, event)

    def last(self, n: int) -> tuple[StepEvent, ...]:
        """Return the last ``n`` at most, oldest first."""
        if n <= 0:
            return ()
        skipped = max(0, len(self._events) - n)
        return tuple(self._events)[skipped:]


def _mergeable(last: StepEvent, new: StepEvent) -> bool:
    same = (last.phase, last.clock, last.writer, last.rank) == (
        new.phase,
        new.clock,
        new.writer,
        new.rank,
    )
    follows = new.index - new.interval_steps == last.index
    short = last.seconds is not None and last.seconds < MERGE_BELOW_S
    return same and follows and short and new.seconds is not None


def _joined(last: StepEvent, new: StepEvent) -> StepEvent:
    steps = last.interval_steps + new.interval_steps
    return replace(
        new,
        seconds=(last.seconds or 0.0) + (new.seconds or 0.0),
        interval_steps=steps,
        tokens=None if last.tokens is None or new.tokens is None else last.tokens + new.tokens,
        width=_mean_width(last, new, steps),
        loss=_worse_loss(last.loss, new.loss),
        report=None,
    )


def _mean_width(last: StepEvent, new: StepEvent, steps: int) -> int | None:
    if last.width is None or new.width is None:
        return None
    total = last.width * last.interval_steps + new.width * new.interval_steps
    return round(total / steps)


def _worse_loss(last: float | None, new: float | None) -> float | None:
    """Keep the newer loss, unless the older one is not finite: that must not get lost."""
    if new is None or (last is not None and not math.isfinite(last)):
        return last
    return new
