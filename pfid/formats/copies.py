"""Which lines are no new step of a series: a bar drawn again, or a copy by another rank."""

from bisect import bisect_left
from typing import Final

from pfid.domain.step import StepClock
from pfid.formats.reading import Reading
from pfid.formats.series import CLOCK_SLACK_S, Series

PRINTED_SLACK: Final = 0.05
OWN_SLACK: Final = 0.005
"""A rank that says its own line twice says the same time, but for rounding."""


def repeats(series: Series, reading: Reading) -> bool:
    """Whether a reading is a redraw, or a copy by another rank, of one that was taken."""
    index = reading.step + series.lap_offset
    at = bisect_left(series.indexes, index)
    if at == len(series.indexes) or series.indexes[at] != index:
        return False
    past = series.clocks[at]
    if reading.printed_s is not None:
        slack = PRINTED_SLACK if reading.rank is None else OWN_SLACK
        allowed = max(slack * max(past, reading.printed_s), 0.002)
        return abs(reading.printed_s - past) <= allowed
    if reading.clock_s is None or past != past:  # noqa: PLR0124 - NaN marks an unknown clock
        return True
    off = reading.clock_s - past
    if reading.redraws:
        return _redrawn(series, reading, index, off, series.rates[at])
    return _shadowed(series, reading, index, off)


def told_by_another(series: Series, reading: Reading, rank: int) -> bool:
    """Whether another rank of the same run says what this series knows or will hear."""
    if series.ranks is None:
        return False
    index, stride = reading.step + series.lap_offset, max(series.usual_stride, 1)
    ahead = index - series.last_index
    if ahead <= 0:
        told = series.ranks.tells_again(rank, index, series.last_index, stride)
        series.copies += told
        return told
    own_clock = reading.clock is StepClock.COUNTER
    return own_clock and not series.ranks.followed(rank, ahead, stride)


def without_loss(series: Series, reading: Reading) -> bool:
    """Whether a line is a second record of a step, or of an evaluation: not of training."""
    if not series.lossy or reading.loss is not None:
        return False
    index = reading.step + series.lap_offset
    if reading.evaluation:
        return True
    at = bisect_left(series.indexes, index)
    return at < len(series.indexes) and series.indexes[at] == index


def _redrawn(series: Series, reading: Reading, index: int, off: float, rate: float) -> bool:
    if index == series.last_index:
        return off >= -CLOCK_SLACK_S
    return abs(off) <= CLOCK_SLACK_S and same_rate(reading.rate_s, rate)


def _shadowed(series: Series, reading: Reading, index: int, off: float) -> bool:
    usual = 0.0 if series.shadow is None else series.shadow[2]
    near = abs(off) <= CLOCK_SLACK_S or abs(off - usual) <= CLOCK_SLACK_S
    if not near and (series.shadow is not None or abs(off) > series.pace_s / 2):
        return False
    if reading.clock_s is not None and off:
        series.shadow = (index, reading.clock_s, off if series.shadow is None else usual)
    series.copies += 1
    return True


def same_rate(one: float | None, other: float | None) -> bool:
    """Whether two bars show one and the same smoothed rate: copies do, a second run does not."""
    if not one or not other:
        return not one and not other
    return abs(one - other) <= 0.003 * max(one, other)
