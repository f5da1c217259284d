"""How long the steps of a series took: its next line is taken in, and timed from those before."""

from functools import partial
from typing import Final, NamedTuple

from pfid.domain.step import StepClock
from pfid.formats.ranks import Ranks
from pfid.formats.reading import Reading
from pfid.formats.series import Series

COARSE_S: Final = 2.0
"""Shortest difference of a clock of whole seconds that is taken as a time."""
JUMP_FACTOR: Final = 4
"""A counter that leaps this many times its usual stride was moved, it did not work."""
PACE_WEIGHT: Final = 0.1
"""Of the newest step in the mean that foretells the next line; never a step time."""


class Timing(NamedTuple):
    """Duration of what lies between two readings; ``seconds`` None if it cannot be known."""

    seconds: float | None
    interval: int
    clock: StepClock


_timing: Final = partial(tuple.__new__, Timing)
"""A Timing out of a tuple of its fields, at a third of the price."""
_PRINTED: Final = StepClock.PRINTED


def take(series: Series, reading: Reading, at_s: float | None) -> Timing | None:
    """Go on to a reading; None while what lies behind is too short to be timed."""
    index, clock_s, redraws = reading.step + series.lap_offset, reading.clock_s, reading.redraws
    if reading.lap != series.lap:
        series.begin_lap(reading.lap, (reading.total or 0) * reading.lap)
    stride, leapt = 1, False
    if series.points:
        stride = index - series.last_index
        leapt = redraws and stride > 1 and stride > JUMP_FACTOR * series.usual_stride
        usual = series.usual_stride // 2
        series.usual_stride = max(stride, usual)
    else:
        _begin(series, reading, index)
    series.points += 1
    if reading.skipped:
        series.skipped += 1
    if reading.rank is not None:
        series.ranks = series.ranks or Ranks()
        series.ranks.hear(reading.rank, index)
    if reading.loss is not None:
        series.lossy = True
    series.last_index, series.last_clock_s = index, clock_s
    series.remember(reading, index)
    if redraws and index <= series.lap_begin:  # a bar at 0 has done nothing yet
        _rebase(series, index, clock_s, at_s)
        return None
    timing = Timing(None, stride, reading.clock) if leapt else _time(series, reading, index, at_s)
    if timing is not None:
        series.base_index, series.base_clock_s, series.base_at_s = index, clock_s, at_s
        seconds = timing[0]
        if seconds is not None:
            pace_s = series.pace_s
            series.pace_s += (seconds / timing[1] - pace_s) * (PACE_WEIGHT if pace_s else 1)
    return timing


def _begin(series: Series, reading: Reading, index: int) -> None:
    if reading.from_zero and (index <= 1 or not reading.redraws):
        stride = reading.interval or series.usual_stride or likely_stride(index)
        series.base_index, series.base_clock_s = max(index - stride, 0), 0.0
    elif reading.clock is StepClock.PRINTED:
        stride = reading.interval or series.usual_stride or likely_stride(index)
        series.base_index = max(index - stride, 0)
    series.start_index, series.start_clock_s = series.base_index, series.base_clock_s


def _rebase(series: Series, index: int, clock_s: float | None, at_s: float | None) -> None:
    series.base_index, series.base_clock_s, series.base_at_s = index, clock_s, at_s


def _time(series: Series, reading: Reading, index: int, at_s: float | None) -> Timing | None:
    base = series.base_index
    steps = 1 if base is None else max(index - base, 1)
    if reading.printed_s is not None:
        interval = reading.interval or steps
        return _timing((reading.printed_s * interval, interval, _PRINTED))
    if base is None:
        return Timing(None, steps, reading.clock)
    return _difference(series, reading, steps, at_s)


def _difference(series: Series, reading: Reading, steps: int, at_s: float | None) -> Timing | None:
    arrived = None if at_s is None or series.base_at_s is None else at_s - series.base_at_s
    if reading.clock_s is None or series.base_clock_s is None:
        if arrived is None:
            return Timing(None, steps, reading.clock)
        return Timing(arrived, steps, StepClock.ARRIVAL) if arrived > 0 else None
    passed = max(reading.clock_s - series.base_clock_s, 0.0)
    if arrived is not None and arrived > 0 and abs(arrived - passed) < reading.tick_s * 1.5:
        # Finer than whole seconds, and believed only while the two agree.
        return Timing(arrived, steps, StepClock.ARRIVAL)
    if reading.tick_s and passed < COARSE_S * reading.tick_s:
        if series.complete:
            return Timing(passed or None, steps, reading.clock)
        return None
    return _timing((passed, steps, reading.clock))


def likely_stride(index: int) -> int:
    """Guess how many steps the first line of a series is about, from its round number."""
    return (
        next(stride for stride in (100, 50, 20, 10, 5, 2, 1) if index % stride == 0) if index else 1
    )
