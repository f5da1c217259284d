r"""Plain bars, line after line: the counter and the clock of each, and nothing made in between.

``  2%|##   | 12/600 [00:31<25:13,  2.57s/it]`` without a name or figures behind it is what most
loops draw, up to ten times a second. A log of them is read here in one pass over the bytes. What
comes out is what ``Tracker`` and ``Series`` would say of the same readings one by one; whatever is
not the plain next step of a lone series is left to them.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.formats.dialects.bar import Bar, plain_bar
from pfid.formats.linear_regex import Pattern
from pfid.formats.series import CLOCK_SLACK_S, Series
from pfid.formats.step_events import bar_event
from pfid.formats.step_timing import COARSE_S, JUMP_FACTOR, PACE_WEIGHT

Row = re.Match[bytes]
"""One line: counter, total, elapsed but for its seconds, those, rate, unit."""
TICK_S: Final = 1.0
MAX_ROWS: Final = 512
"""In one go; bounds what is held at a time."""
_ROW: Final = re.compile(
    rb" {0,64}\d{1,3}%\|[# \d\x80-\xff]{0,300}\| (\d{1,15})/(\d{1,15}) "
    rb"\[((?:\d{1,7}:)?\d{1,9}):(\d\d)<[\d:?]{1,20}, {0,20}(\d{1,15}(?:\.\d{1,9})?)(s/it|it/s)\]"
    rb"([^\r\n\x1b]{1,4096})?[\r\n]+"
)
"""Nothing up to its bracket can be another dialect's trigger; what another process wrote behind it
on the same line can."""
_match: Final = _ROW.match
_BEHIND: Final = 7
_COUNTER: Final = StepClock.COUNTER
_ARRIVAL: Final = StepClock.ARRIVAL


def rows_at(body: bytes, start: int, triggers: Pattern) -> list[Row]:
    """Return the plain bars that follow one another from the line at ``start`` on.

    Args:
        body: whole lines.
        start: where one begins.
        triggers: of all dialects; a row that holds one behind its bar is none.
    """
    rows: list[Row] = []
    row = _match(body, start)
    while row is not None and len(rows) < MAX_ROWS:
        if row.lastindex == _BEHIND:
            begin, end = row.span(_BEHIND)
            if triggers.search(body[begin - 1 : end]) is not None:
                break
        rows.append(row)
        row = _match(body, row.end())
    return rows


def bar_of(row: Row) -> Bar:
    """Return the bar of one row, as ``read_bar`` would."""
    n, total, minutes, seconds, rate, unit, _behind = row.groups()
    return plain_bar(n, total, _minutes_s(minutes) + int(seconds), rate, unit)


class Ran(NamedTuple):
    """How far a series took rows."""

    rows: int
    taken: int
    """Of them the ones that were steps; the others were drawn again."""
    done: bool
    """Whether one showed the bar full."""


def _minutes_s(text: bytes) -> float:
    hours, colon, minutes = text.rpartition(b":")
    return float(int(hours) * 3600 + int(minutes) * 60) if colon else float(int(minutes) * 60)


def run(  # noqa: C901, PLR0912, PLR0915 - one loop whose every call would cost as much as its work
    series: Series,
    rows: Sequence[Row],
    at_s: float | None,
    phase: Phase,
    events: list[StepEvent],
) -> Ran:
    """Take rows while each is the next of this series, or its last one drawn again.

    Args:
        series: the lone live one of its key, which has taken a reading.
        rows: the first has the total of the series.
        at_s: when they arrived.
        phase: of the first event; those after it are training.
        events: those that come out are added.
    """
    offset, total_n, indexes, clocks, rates = (
        series.lap_offset, series.total, series.indexes, series.clocks, series.rates,
    )  # fmt: skip
    last, last_clock_s, shown_s = series.last_index, series.last_clock_s or 0.0, clocks[-1]
    usual, pace_s, writer = series.usual_stride, series.pace_s, series.writer
    base, base_clock_s, base_at_s = series.base_index or 0, series.base_clock_s or 0.0, at_s
    arrived_s = 0.0 if at_s is None or series.base_at_s is None else at_s - series.base_at_s
    end = None if total_n is None else offset + total_n
    room = 2 * series.memory - len(indexes)
    total, minutes, minutes_s, taken, count, done = rows[0][2], b"", 0.0, 0, 0, False
    rebased = False
    for row in rows:
        n_text, total_text, minutes_text, seconds_text, rate_text, unit, _behind = row.groups()
        if total_text != total:
            break
        if minutes_text != minutes:
            minutes, minutes_s = minutes_text, _minutes_s(minutes_text)
        clock_s = minutes_s + int(seconds_text)
        index = int(n_text) + offset
        if index <= last:
            if index != last or clock_s - shown_s < -CLOCK_SLACK_S:
                break
            count += 1
            if n_text == total_text:
                done = True
            continue
        if clock_s < last_clock_s - CLOCK_SLACK_S:
            break
        count += 1
        taken += 1
        if n_text == total_text:
            done = True
        stride = index - last
        leapt = stride > 1 and stride > JUMP_FACTOR * usual
        usual //= 2
        usual = max(usual, stride)
        last = index
        last_clock_s = shown_s = clock_s
        rate = float(rate_text)
        indexes.append(index)
        clocks.append(clock_s)
        rates.append(rate if unit == b"s/it" or not rate else 1 / rate)
        room -= 1
        if room < 0:
            series.forget(series.memory)
            room = series.memory
        clock, seconds = _COUNTER, None
        if leapt:
            steps = stride
        else:
            steps = index - base
            seconds = clock_s - base_clock_s
            if seconds < 0:
                seconds = 0.0
            if arrived_s > 0 and abs(arrived_s - seconds) < TICK_S * 1.5:
                clock, seconds = _ARRIVAL, arrived_s
            elif seconds < COARSE_S * TICK_S:
                if end is None or index < end:
                    continue
                seconds = seconds or None
            if seconds is not None:
                pace_s += (seconds / steps - pace_s) * (PACE_WEIGHT if pace_s else 1)
        events.append(bar_event(index, seconds, clock, steps, phase, writer, at_s))
        phase = Phase.TRAIN
        base, base_clock_s, arrived_s, rebased = index, clock_s, 0.0, True
    series.points += taken
    series.last_index, series.usual_stride, series.pace_s = last, usual, pace_s
    if taken:
        series.last_clock_s = last_clock_s
    if rebased:
        series.base_index, series.base_clock_s, series.base_at_s = base, base_clock_s, base_at_s
    return Ran(count, taken, done)
