"""Lightning's bar: ``Epoch 0:   1%|▏ | 10/1312 [05:52<12:43:50,  0.03it/s, v_num=3, ...]``.

It never inverts its rate: 400 s a step prints as ``0.00it/s``. Counter and elapsed are used. The
counter starts again with each epoch and counts batches: with accumulation, a step is several.
"""

import re
from typing import Final

from pfid.domain.step import StepClock
from pfid.formats.dialects.bar import Bar
from pfid.formats.reading import Reading

NAME: Final = "lightning"
_EPOCH: Final = re.compile(r"Epoch (\d{1,9})\Z")
_LOSS: Final = re.compile(r"\b(?:train_)?loss(?:_step)?=([-+\w.]{1,30})")


def read(bar: Bar) -> Reading | None:
    """Return the reading; None if it is not Lightning's training bar."""
    epoch = _EPOCH.search(bar.description) if bar.description else None
    if epoch is None:
        return None
    lap = int(epoch[1])
    return Reading(
        dialect=NAME,
        key=f"{NAME}/{'?' if bar.total is None else bar.total}",
        step=bar.n + lap * (bar.total or 0),
        clock=StepClock.COUNTER,
        clock_s=bar.elapsed_s,
        from_zero=True,
        tick_s=1.0,
        redraws=True,
        lap=lap,
        total=bar.total,
        rank=bar.rank,
        loss=_loss(bar.postfix),
    )


def _loss(postfix: str) -> float | None:
    found = _LOSS.search(postfix)
    try:
        return None if found is None else float(found[1])
    except ValueError:
        return None
