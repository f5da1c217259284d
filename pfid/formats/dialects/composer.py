"""Composer's console: ``[epoch=1][batch=10/100]:`` and indented figures below it.

Its throughput is a rolling mean over a window, so the header gives the counter and nothing more:
seconds come from arrival, or not at all.
"""

import re
from typing import Final

from pfid.domain.step import StepClock
from pfid.formats.line_text import split_label, without_ansi
from pfid.formats.numbers import whole
from pfid.formats.reading import Reading

NAME: Final = "composer"
TRIGGERS: Final = (rb"\[batch=\d",)
_LINE: Final = re.compile(rb"\[epoch=(\d{1,9})(?:/\d{1,9})?\]\[batch=(\d{1,15})(?:/(\d{1,15}))?\]")


def read(raw: bytes) -> Reading | None:
    """Return the reading of a header; None if it is not Composer's."""
    rank, text = split_label(without_ansi(raw))
    found = _LINE.search(text)
    if found is None:
        return None
    lap, batch, total = max(int(found[1]) - 1, 0), whole(found[2]), whole(found[3])
    if batch is None:
        return None
    return Reading(
        dialect=NAME,
        key=NAME,
        step=batch + lap * (total or 0),
        clock=StepClock.ARRIVAL,
        lap=lap,
        total=total,
        rank=rank,
    )
