"""DeepSpeed's three step lines; silent unless ``steps_per_print`` is set.

``epoch=0/micro_step=80/global_step=10, RunningAvgSamplesPerSec=12.3, ...`` and
``step=10, skipped=0, lr=[..], mom=[..]`` print running means only: their times are differences of
the stamps. The pipeline engine's ``steps: 10 loss: 2.30 iter time (s): 20.533 samples/sec: 12.3``
prints the mean seconds over its interval.
"""

import re
from typing import Final

from pfid.formats.line_text import split_label, without_ansi
from pfid.formats.numbers import finite, real, stamp_s, whole
from pfid.formats.reading import Reading, printed, stamped

NAME: Final = "deepspeed"
TRIGGERS: Final = (
    rb"RunningAvgSamplesPerSec=",
    rb"=\d{1,15}, skipped=\d",
    rb"\(s\): {1,4}\d",
)
_TIMER: Final = re.compile(rb"\bglobal_step=(\d{1,15}), RunningAvgSamplesPerSec=")
_STEP: Final = re.compile(rb"\bstep=(\d{1,15}), skipped=(\d{1,15}), lr=")
_PIPE: Final = re.compile(
    rb"\bsteps: +(\d{1,15}) +loss: +([-+\w.]{1,30}) +iter time \(s\): +([\d.]{1,30})"
)


def read(raw: bytes) -> Reading | None:
    """Return the reading of a line; None if it is not DeepSpeed's."""
    rank, text = split_label(without_ansi(raw))
    pipe = _PIPE.search(text) if b"iter time (s): " in text else None
    if pipe is not None:
        return _pipe(pipe, rank)
    found = _STEP.search(text) if b", skipped=" in text else None
    found = found or _TIMER.search(text)
    index = None if found is None else whole(found[1])
    if found is None or index is None:
        return None
    return stamped(NAME, index, stamp_s(text[: found.start()]), rank, None)


def _pipe(found: re.Match[bytes], rank: int | None) -> Reading | None:
    index, seconds = whole(found[1]), finite(found[3])
    if index is None or seconds is None:
        return None
    return printed(NAME, f"{NAME}/pipe", index, seconds, rank, real(found[2]))
