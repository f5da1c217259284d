"""What one line of a log says about one step, before it is known which series it belongs to."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pfid.domain.step import StepClock


class Reading(NamedTuple):
    """One line of one dialect, read.

    A NamedTuple, because one is made per step line and logs of 200 MB hold millions.

    Attributes:
        dialect: name of the dialect.
        key: what may share a series: dialect and, for bars, total and description.
        step: the program's own step counter.
        clock: what the seconds rest on.
        clock_s: a running clock: elapsed seconds, or Unix seconds of a timestamp.
        printed_s: seconds of one step as printed (mean over the interval where it is one).
        from_zero: whether ``clock_s`` counts from the beginning of the attempt.
        tick_s: resolution of ``clock_s``.
        redraws: whether the same line is written again and again (a bar).
        rate_s: smoothed seconds per step of a bar; tells copies apart, is never a step time.
        lap: number of the epoch where the counter starts again with each.
        total: steps the program means to do, in one lap.
        interval: steps that ``printed_s`` is about, None for all since the line before.
        pauses_inside: whether an evaluation or a save before this line counts into its seconds.
        rank: of the writer, where it says so.
        tokens: of the interval.
        width: padded width.
        loss: as printed.
        skipped: iterations of the interval whose update was skipped.
    """

    dialect: str
    key: str
    step: int
    clock: StepClock
    clock_s: float | None = None
    printed_s: float | None = None
    from_zero: bool = False
    tick_s: float = 0.0
    redraws: bool = False
    rate_s: float | None = None
    lap: int = 0
    total: int | None = None
    interval: int | None = None
    pauses_inside: bool = True
    rank: int | None = None
    tokens: int | None = None
    width: int | None = None
    loss: float | None = None
    skipped: int = 0


def plain_reading(reading: Reading) -> list[Any]:
    """Return plain data."""
    return [value.value if isinstance(value, StepClock) else value for value in reading]


def restored_reading(plain: Sequence[Any]) -> Reading:
    """Return the reading that plain data came from."""
    reading = Reading(*plain)
    return reading._replace(clock=StepClock(reading.clock))
