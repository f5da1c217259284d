"""Figures of one segment of a log: one writer, one attempt, from its first step to its last."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from pfid.analysis.quantile_sketch import QuantileSketch
from pfid.analysis.step_statistics import STEPPING
from pfid.domain.step import StepClock, StepEvent

EXACT_VALUES: Final = 2_000_000
"""A forensic reading keeps every step up to 16 MB of them; beyond, the sketch's bound holds."""
FEW: Final = 5
"""With fewer values behind the first no percentile is claimed; they are given singly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentFigures:
    """What a segment's step times come to; seconds per optimizer step, nearest rank.

    Attributes:
        clock: what most of the times rest on.
        n: values behind ``min_s`` to ``max_s``: single steps, or intervals where
            ``interval_steps`` is more than 1; the first one is not among them.
        first_s: the first value by position, None if it was not timed.
        min_s: None where nothing was timed, and so on.
        p50_s: None with fewer than ``FEW`` values, as p90 and p99.
        p90_s: as above.
        p99_s: as above.
        max_s: largest.
        interval_steps: usual number of steps of a value.
        first_index: counter of the first step line.
        last_index: counter of the last.
        steps: steps that ``seconds`` is about, the first among them.
        seconds: sum of all timed seconds, pauses among them; 0 if nothing was timed.
        samples: all values in order where there are few, the first among them.
        paused: values left out because an evaluation or a save fell into them.
        other_kind: values left out because they are of the other kind (intervals beside single
            steps, or single steps beside intervals).
        rank_error: largest share of n by which a rank may be off.
    """

    clock: StepClock
    n: int
    first_s: float | None
    min_s: float | None
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None
    max_s: float | None
    interval_steps: int
    first_index: int
    last_index: int
    steps: int
    seconds: float
    samples: tuple[float, ...]
    paused: int
    other_kind: int
    rank_error: float


class Segment:
    """Takes the events of one segment in order."""

    __slots__ = (
        "_clocks",
        "_first",
        "_interval_steps",
        "_intervals",
        "_last_index",
        "_paused",
        "_samples",
        "_seconds",
        "_singles",
        "_steps",
    )

    def __init__(self, first: StepEvent) -> None:
        """Begin with the segment's first event, which is kept apart by position."""
        self._first = first
        self._last_index = first.index
        self._singles = QuantileSketch(EXACT_VALUES)
        self._intervals = QuantileSketch(EXACT_VALUES)
        self._interval_steps: Counter[int] = Counter()
        self._clocks: Counter[StepClock] = Counter()
        self._samples: list[float] = []
        self._paused = self._steps = 0
        self._seconds = 0.0
        self._take_seconds(first)

    def add(self, event: StepEvent) -> None:
        """Take the next event."""
        self._last_index = event.index
        self._take_seconds(event)
        seconds = event.seconds_per_step
        if seconds is None:
            return
        if event.phase not in STEPPING:
            self._paused += 1
        elif event.interval_steps == 1:
            self._singles.add(seconds)
        else:
            self._intervals.add(seconds)
            self._interval_steps[event.interval_steps] += 1

    def _take_seconds(self, event: StepEvent) -> None:
        if event.seconds is None:
            return
        self._clocks[event.clock] += 1
        self._seconds += event.seconds
        self._steps += event.interval_steps
        if len(self._samples) <= FEW:
            self._samples.append(event.seconds / event.interval_steps)

    def figures(self) -> SegmentFigures:
        """Return the figures of what was taken so far."""
        in_intervals = sum(steps * n for steps, n in self._interval_steps.items())
        by_interval = in_intervals > self._singles.n
        values = self._intervals if by_interval else self._singles
        other = self._singles if by_interval else self._intervals
        known, enough = values.n > 0, values.n >= FEW
        return SegmentFigures(
            clock=max(self._clocks, key=self._clocks.__getitem__, default=self._first.clock),
            n=values.n,
            first_s=self._first.seconds_per_step,
            min_s=values.percentile(0) if known else None,
            p50_s=values.percentile(50) if enough else None,
            p90_s=values.percentile(90) if enough else None,
            p99_s=values.percentile(99) if enough else None,
            max_s=values.percentile(100) if known else None,
            interval_steps=self._interval(by_interval=by_interval),
            first_index=self._first.index,
            last_index=self._last_index,
            steps=self._steps,
            seconds=self._seconds,
            samples=() if enough else tuple(self._samples),
            paused=self._paused,
            other_kind=other.n,
            rank_error=values.rank_error,
        )

    def _interval(self, *, by_interval: bool) -> int:
        if by_interval:
            return max(self._interval_steps, key=lambda k: (self._interval_steps[k], -k))
        return 1 if self._singles.n else self._first.interval_steps
