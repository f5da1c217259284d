"""The newest steps of a run, bounded in number and still long in time.

A rule that must hold for half a minute cannot be judged on the last 512 steps of a program that
makes a hundred a second. Neighbours too short to matter by themselves are kept as one interval,
so that ``CAPACITY`` events always span at least ``CAPACITY * MERGE_BELOW_S`` seconds.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Final

from pfid.analysis.packed_steps import PackedSteps
from pfid.domain.step import Phase, StepEvent

CAPACITY: Final = 512
MERGE_BELOW_S: Final = 0.1


class RecentSteps:
    """Events of one writer, newest last, without their reports. Some 30 KB when full.

    The newest stays an object, because the next one may be put together with it.
    """

    __slots__ = ("_newest", "_older")

    def __init__(self, events: Iterable[StepEvent] = ()) -> None:
        """Begin with ``events``, as :meth:`last` gave them before a restart."""
        self.clear()
        self.extend(events)

    def __len__(self) -> int:
        return len(self._older) + (self._newest is not None)

    def __iter__(self) -> Iterator[StepEvent]:
        return iter(self.last(CAPACITY))

    @property
    def maxlen(self) -> int:
        """How many events are kept at most."""
        return CAPACITY

    def clear(self) -> None:
        """Forget everything: another writer leads now."""
        self._older = PackedSteps()
        self._newest: StepEvent | None = None

    def extend(self, events: Iterable[StepEvent]) -> None:
        """Take several events in."""
        for event in events:
            self.append(event)

    def append(self, event: StepEvent) -> None:
        """Take one event in."""
        last = self._newest
        if event.report is not None:
            event = replace(event, report=None)
        # The first event stays alone: it holds the compile and is left out by position.
        if last is not None and len(self._older) and _mergeable(last, event):
            self._newest = _joined(last, event)
            return
        if last is not None:
            self._older.append(last)
        if len(self._older) >= CAPACITY:
            self._older.drop()
        self._newest = event

    def last(self, n: int) -> tuple[StepEvent, ...]:
        """Return the last ``n`` at most, oldest first."""
        if n <= 0 or self._newest is None:
            return ()
        return (*self._older.last(n - 1), self._newest)

    def train_seconds(self, n: int) -> list[float]:
        """Seconds a step of the last ``n`` of phase ``train`` that were timed, oldest first."""
        newest = self._newest
        timed = newest is not None and newest.phase is Phase.TRAIN
        first = newest.seconds_per_step if newest is not None and timed else None
        found = [] if first is None else [first]
        found += islice(self._older.train_seconds(), max(0, n - len(found)))
        return found[::-1]

    def keep(self, n: int) -> None:
        """Let go of all but the newest ``n``: the run is over, and shown for a while."""
        kept = self.last(n)
        self.clear()
        for event in kept:  # as they are, not put together once more
            if self._newest is not None:
                self._older.append(self._newest)
            self._newest = event


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
