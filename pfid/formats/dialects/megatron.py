"""Megatron-LM, Megatron-DeepSpeed, NeMo's kin: ``iteration 120/ 500000 | ... (ms): 20533.4 | ...``.

The milliseconds are the mean over the logging interval; the timer is stopped during evaluation
and saving. ``time (ms) | forward-compute: ...`` lines are a breakdown, not steps. The loss is
written ``lm loss:`` and ``lm-loss:``; an iteration that was skipped logs none.
"""

import re
from typing import Final

from pfid.formats.line_text import split_label, without_ansi
from pfid.formats.numbers import finite, real, whole
from pfid.formats.reading import Reading, printed

NAME: Final = "megatron"
TRIGGERS: Final = (rb"\(ms\): {1,12}\d",)
_ITERATION: Final = re.compile(rb"iteration +(\d{1,15})/ *(\d{1,15}) \|")
_TIME: Final = b"elapsed time per iteration (ms): "
_MILLISECONDS: Final = re.compile(rb" *([\d.]{1,30})")
_LOSS: Final = re.compile(rb"loss: +([-+\w.]{1,30})")
_SKIPPED: Final = b"| number of skipped iterations: "


def read(raw: bytes) -> Reading | None:
    """Return the reading of a line; None if it is not an iteration line."""
    rank, text = split_label(without_ansi(raw))
    at = text.find(_TIME)
    found = _ITERATION.search(text, 0, at) if at > 0 else None
    time = None if found is None else _MILLISECONDS.match(text, at + len(_TIME))
    if found is None or time is None:
        return None
    index, milliseconds = whole(found[1]), finite(time[1])
    if index is None or milliseconds is None:
        return None
    loss = _LOSS.search(text, time.end())
    return printed(
        NAME,
        NAME,
        index,
        milliseconds / 1000,
        rank,
        None if loss is None else real(loss[1]),
        total=whole(found[2]),
        pauses_inside=False,
        skipped=_skipped(text),
    )


def _skipped(text: bytes) -> int:
    at = text.find(_SKIPPED)
    return 0 if at < 0 else whole(text[at + len(_SKIPPED) :].split(b"|", 1)[0].strip()) or 0
