"""Megatron-LM, Megatron-DeepSpeed, NeMo's kin: ``iteration 120/ 500000 | ... (ms): 20533.4 | ...``.

The milliseconds are the mean over the logging interval; the timer is stopped during evaluation
and saving. ``time (ms) | forward-compute: ...`` lines are a breakdown, not steps. The loss is
written ``lm loss:`` and ``lm-loss:``; an iteration that was skipped logs none.
"""

import re
from typing import Final

from pfid.domain.step import StepClock
from pfid.formats.line_text import split_label, without_ansi
from pfid.formats.numbers import finite, real, whole
from pfid.formats.reading import Reading

NAME: Final = "megatron"
TRIGGERS: Final = (rb"\(ms\): {1,12}\d",)
_LINE: Final = re.compile(
    rb"iteration +(\d{1,15})/ *(\d{1,15}) \|(?:[^|\r\n]*\|)*? "
    rb"elapsed time per iteration \(ms\): +([\d.]{1,30})"
)
_LOSS: Final = re.compile(rb"\| (?:lm[ -]loss|loss|reduced_train_loss): +([-+\w.]{1,30})")
_SKIPPED: Final = re.compile(rb"\| number of skipped iterations: +(\d{1,9})")


def read(raw: bytes) -> Reading | None:
    """Return the reading of a line; None if it is not an iteration line."""
    rank, text = split_label(without_ansi(raw))
    found = _LINE.search(text)
    if found is None:
        return None
    index, milliseconds = whole(found[1]), finite(found[3])
    if index is None or milliseconds is None:
        return None
    loss, skipped = _LOSS.search(text), _SKIPPED.search(text)
    return Reading(
        dialect=NAME,
        key=NAME,
        step=index,
        clock=StepClock.PRINTED,
        printed_s=milliseconds / 1000,
        total=whole(found[2]),
        pauses_inside=False,
        rank=rank,
        loss=None if loss is None else real(loss[1]),
        skipped=0 if skipped is None else int(skipped[1]),
    )
