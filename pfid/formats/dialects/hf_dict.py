"""The HF Trainer's log dict: ``{'loss': '4.162', 'grad_norm': '0.6211', ..., 'epoch': '0.46'}``.

Since 5.x the numbers are quoted. The line holds no step number and no time, so it gives losses
and says when an evaluation ended or training was over; steps come from the bar beside it.
"""

import re
from dataclasses import dataclass
from typing import Final

from pfid.formats.numbers import real

NAME: Final = "hf_dict"
TRIGGERS: Final = (rb"\{'(?:loss|eval_|train_)",)
_NUMBER: Final = rb"'?([-+]?(?:nan|inf|[\d.]{1,30}(?:e[-+]?\d{1,4})?))'?[,}]"
_LOSS: Final = re.compile(rb"\{'loss': " + _NUMBER)
_EVAL: Final = re.compile(rb"\{'eval_\w{1,60}': " + _NUMBER)
_OVER: Final = re.compile(rb"\{'train_runtime': " + _NUMBER)


@dataclass(frozen=True, slots=True, kw_only=True)
class HfLog:
    """What a dict says.

    Attributes:
        loss: of the last logging interval, None if the dict is not about training.
        evaluated: an evaluation has ended.
        over: training has ended.
    """

    loss: float | None = None
    evaluated: bool = False
    over: bool = False


def read(text: bytes) -> HfLog | None:
    """Return what the dict says; None if the line holds none."""
    loss = _LOSS.search(text)
    if loss is not None:
        return HfLog(loss=real(loss[1]))
    if _EVAL.search(text) is not None:
        return HfLog(evaluated=True)
    return HfLog(over=True) if _OVER.search(text) is not None else None
