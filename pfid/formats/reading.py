"""What one line of a log says about one step, before it is known which series it belongs to."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

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
        evaluation: whether it gives figures of an evaluation and no loss of training.
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
    evaluation: bool = False


_new: Final = tuple.__new__
_PRINTED: Final = StepClock.PRINTED
_STAMPED: Final = StepClock.STAMPED
_ARRIVAL: Final = StepClock.ARRIVAL


def printed(  # noqa: PLR0913 - the fields of a line, once, in place of a call by keywords
    dialect: str,
    key: str,
    step: int,
    seconds: float,
    rank: int | None,
    loss: float | None,
    *,
    interval: int | None = None,
    total: int | None = None,
    pauses_inside: bool = True,
    skipped: int = 0,
) -> Reading:
    """Return the reading of a line that prints its seconds; a third of the price of keywords."""
    return _new(
        Reading,
        (
            dialect,
            key,
            step,
            _PRINTED,
            None,
            seconds,
            False,
            0.0,
            False,
            None,
            0,
            total,
            interval,
            pauses_inside,
            rank,
            None,
            None,
            loss,
            skipped,
            False,
        ),
    )


def stamped(
    dialect: str, step: int, stamp_s: float | None, rank: int | None, loss: float | None
) -> Reading:
    """Return the reading of a line with a date and time, or of one that has lost it."""
    clock = _ARRIVAL if stamp_s is None else _STAMPED
    return _new(
        Reading,
        (
            dialect,
            dialect,
            step,
            clock,
            stamp_s,
            None,
            False,
            0.0,
            False,
            None,
            0,
            None,
            None,
            True,
            rank,
            None,
            None,
            loss,
            0,
            False,
        ),
    )


def plain_reading(reading: Reading) -> list[Any]:
    """Return plain data."""
    return [value.value if isinstance(value, StepClock) else value for value in reading]


def restored_reading(plain: Sequence[Any]) -> Reading:
    """Return the reading that plain data came from."""
    reading = Reading(*plain)
    return reading._replace(clock=StepClock(reading.clock))
