"""Statistics of a run's steps in bounded memory, the first step out by position."""

from bisect import bisect_left
from dataclasses import asdict
from typing import Any, Final

from pfid.analysis.quantile_sketch import QuantileSketch
from pfid.domain.snapshot import StepHistogram
from pfid.domain.step import Phase, StepEvent
from pfid.domain.step_summary import StepSummary

EXACT_STEPS: Final = 10_000
EXACT_INTERVALS: Final = 1_000
INTERVAL_ENTRIES_MAX: Final = 250
"""Of a run that logs both, single steps are what is looked at."""
STEPPING: Final = frozenset({Phase.TRAIN, Phase.COMPILE})
"""Gaps that held an evaluation or a save are no step times; they are events all the same."""
BOUNDS_S: Final = tuple(0.01 * 2**k for k in range(17))
"""Upper bounds of the histogram: 10 ms x 2^k, k = 0..16 (METRICS)."""


class StepStatistics:
    """Takes the events of one writer in order; at most some 95 KB at any length.

    Single steps and intervals are held apart. The summary speaks of single steps; only where a
    run logs intervals and little else it speaks of those, and says how many steps each holds; of
    how many it does not speak is said either way.
    """

    __slots__ = (
        "_counts",
        "_first_s",
        "_frozen",
        "_interval_steps",
        "_intervals",
        "_seen",
        "_singles",
        "_sum_s",
    )

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._seen = 0
        self._first_s: float | None = None
        self._singles = QuantileSketch(EXACT_STEPS)
        self._intervals = QuantileSketch(EXACT_INTERVALS, entries_max=INTERVAL_ENTRIES_MAX)
        self._interval_steps: dict[int, int] = {}
        self._counts = [0] * (len(BOUNDS_S) + 1)
        self._sum_s = 0.0
        self._frozen: StepSummary | None = None

    @property
    def n(self) -> int:
        """How many times the summary rests on."""
        if self._frozen is not None:
            return self._frozen.n
        return max(self._singles.n, self._intervals.n)

    def add(self, event: StepEvent) -> None:
        """Take one event; the first one is kept apart by position, whatever its size."""
        self._seen += 1
        seconds = event.seconds_per_step
        if self._seen == 1:
            self._first_s = seconds
        elif seconds is not None and event.phase in STEPPING:
            self._count(seconds, event.interval_steps)

    def _count(self, seconds: float, interval_steps: int) -> None:
        if interval_steps == 1:
            self._singles.add(seconds)
        else:
            self._intervals.add(seconds)
            if interval_steps in self._interval_steps or len(self._interval_steps) < 64:
                held = self._interval_steps.get(interval_steps, 0)
                self._interval_steps[interval_steps] = held + 1
        self._counts[bisect_left(BOUNDS_S, seconds)] += interval_steps
        self._sum_s += seconds * interval_steps

    def summary(self) -> StepSummary | None:
        """Return the figures; None before the second timed step."""
        if self._frozen is not None:
            return self._frozen
        intervals = self._singles.n < self._intervals.n
        sketch = self._intervals if intervals else self._singles
        if not sketch.n:
            return None
        return StepSummary(
            n=sketch.n,
            first_s=self._first_s,
            min_s=sketch.percentile(0),
            p50_s=sketch.percentile(50),
            p90_s=sketch.percentile(90),
            p99_s=sketch.percentile(99),
            max_s=sketch.percentile(100),
            rank_error=sketch.rank_error,
            interval_steps=self._usual_interval() if intervals else 1,
            other_steps=self._singles.n if intervals else sum(self._counts) - self._singles.n,
        )

    def freeze(self) -> None:
        """Keep the figures alone: nothing is added any more."""
        self._frozen = self.summary()
        self._singles = QuantileSketch(EXACT_STEPS)
        self._intervals = QuantileSketch(EXACT_INTERVALS, entries_max=INTERVAL_ENTRIES_MAX)

    def _usual_interval(self) -> int:
        return max(self._interval_steps, key=lambda steps: (self._interval_steps[steps], -steps))

    def histogram(self) -> StepHistogram:
        """Return the histogram for the exporter, the first step not in it."""
        return StepHistogram(counts=tuple(self._counts), sum_s=self._sum_s)

    def state(self) -> dict[str, Any]:
        """Return plain data from which ``restore`` goes on."""
        return {
            "seen": self._seen,
            "first_s": self._first_s,
            "singles": self._singles.state(),
            "intervals": self._intervals.state(),
            "interval_steps": list(self._interval_steps.items()),
            "counts": list(self._counts),
            "sum_s": self._sum_s,
            "frozen": None if self._frozen is None else asdict(self._frozen),
        }

    @classmethod
    def restore(cls, state: dict[str, Any]) -> "StepStatistics":
        """Go on from a state.

        Raises:
            ValueError: if the state does not hold together.
        """
        statistics = cls()
        statistics._seen = state["seen"]
        statistics._first_s = state["first_s"]
        statistics._singles = QuantileSketch.restore(state["singles"])
        statistics._intervals = QuantileSketch.restore(state["intervals"])
        statistics._interval_steps = {int(k): int(v) for k, v in state["interval_steps"]}
        statistics._counts = list(state["counts"])
        statistics._sum_s = state["sum_s"]
        frozen = state.get("frozen")
        statistics._frozen = None if frozen is None else StepSummary(**frozen)
        return statistics
