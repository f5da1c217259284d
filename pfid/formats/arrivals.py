"""Where several steps arrive in one chunk, the time between two chunks belongs to all of them.

What is known of a chunk is when its newest line was written. A log that is looked at less often
than the run steps would otherwise give its first step the whole time between two looks, and the
others none: step times that never happened.
"""

from collections.abc import Iterable
from dataclasses import replace

from pfid.domain.step import StepClock, StepEvent
from pfid.formats.series import Series


def spread_arrivals(series: Iterable[Series], events: list[StepEvent], at_s: float) -> None:
    """Let each timing by arrival end at the newest step of its chunk, as an interval.

    Args:
        series: all of the log, after the chunk was read.
        events: of the chunk; those that ended too early are replaced.
        at_s: when the chunk arrived.
    """
    for one in series:
        begun = one.base_index
        if one.base_at_s != at_s or begun is None or begun >= one.last_index:
            continue
        at = _last_of(one.writer, events)
        if at is None or events[at].clock is not StepClock.ARRIVAL or events[at].index != begun:
            one.base_at_s = None  # its base is not the line whose arrival is known
            continue
        steps = events[at].interval_steps + one.last_index - begun
        events[at] = replace(
            events[at], index=one.last_index, interval_steps=steps, tokens=None, width=None
        )
        one.base_index, one.base_clock_s = one.last_index, one.last_clock_s


def _last_of(writer: str, events: list[StepEvent]) -> int | None:
    return next((at for at in range(len(events) - 1, -1, -1) if events[at].writer == writer), None)
