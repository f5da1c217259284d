"""The HF Trainer's log dict: ``{'loss': '4.162', 'grad_norm': '0.6211', ..., 'epoch': '0.46'}``.

Since 5.x the numbers are quoted. As the Trainer prints it, the line holds no step number and no
time, so it gives losses and says when an evaluation ended or training was over; steps come from
the bar beside it. Where somebody put the step into it (a callback, another trainer in its manner),
it is a step line, timed by what else it carries: seconds of a step, elapsed time, or its arrival.
"""

import re
from dataclasses import dataclass
from typing import Final

from pfid.domain.step import StepClock
from pfid.formats.numbers import duration_s, finite, real, whole
from pfid.formats.reading import Reading

NAME: Final = "hf_dict"
_STEP: Final = (b"step", b"global_step", b"current_steps", b"iteration", b"iter")
TRIGGERS: Final = (
    rb"\{'(?:loss|eval_|train_|epoch'|" + b"|".join(k + b"'" for k in _STEP) + rb")",
)
_TOTAL: Final = (b"total_steps", b"max_steps")
_SECONDS: Final = (b"step_time", b"seconds_per_step", b"sec_per_step")
_ELAPSED: Final = (b"elapsed", b"elapsed_time", b"time_elapsed")
_OF_TRAINING: Final = frozenset({b"loss", b"learning_rate", b"lr", b"grad_norm", b"epoch"})
_NUMBER: Final = rb"'?([-+]?(?:nan|inf|[\d.]{1,30}(?:e[-+]?\d{1,4})?))'?[,}]"
_LOSS: Final = re.compile(rb"\{'loss': " + _NUMBER)
_EVAL: Final = re.compile(rb"\{'eval_\w{1,60}': " + _NUMBER)
_OVER: Final = re.compile(rb"\{'train_runtime': " + _NUMBER)
_ITEM: Final = re.compile(rb"'(\w{1,60})': (?:'([^',{}]{1,40})'|([^',{}\s]{1,40}))(?=[,}])")


@dataclass(frozen=True, slots=True, kw_only=True)
class HfLog:
    """What a dict says.

    Attributes:
        loss: of the last logging interval, None if the dict is not about training.
        evaluated: an evaluation has ended.
        over: training has ended.
        step_s: seconds of a step on the average of the whole training, where the last dict says.
        reading: the step that the dict is about, None where it names none.
    """

    loss: float | None = None
    evaluated: bool = False
    over: bool = False
    step_s: float | None = None
    reading: Reading | None = None


def read(text: bytes) -> HfLog | None:
    """Return what the dict says; None if the line holds none."""
    if _EVAL.search(text) is not None:
        return HfLog(evaluated=True)
    if _OVER.search(text) is not None:
        return HfLog(over=True, step_s=_mean_s(_items(text)))
    reading = _step(text)
    if reading is not None:
        return HfLog(loss=reading.loss, reading=reading)
    loss = _LOSS.search(text)
    return None if loss is None else HfLog(loss=real(loss[1]))


def _items(text: bytes) -> dict[bytes, bytes]:
    """Keys and values of the dict, the last one of a key."""
    begin = text.find(b"{'")
    return {key: quoted or bare for key, quoted, bare in _ITEM.findall(text, max(begin, 0))}


def _step(text: bytes) -> Reading | None:
    if not any(b"'" + key + b"':" in text for key in _STEP):
        return None
    items = _items(text)
    index = whole(_first(items, _STEP))
    if index is None or _OF_TRAINING.isdisjoint(items):
        return None
    seconds = finite(_first(items, _SECONDS))
    clock_s, tick_s = _clock(_first(items, _ELAPSED))
    timed = StepClock.ARRIVAL if clock_s is None else StepClock.COUNTER
    return Reading(
        dialect=NAME,
        key=NAME,
        step=index,
        clock=timed if seconds is None else StepClock.PRINTED,
        clock_s=clock_s if seconds is None else None,
        printed_s=seconds,
        from_zero=seconds is None and clock_s is not None,
        tick_s=tick_s,
        total=whole(_first(items, _TOTAL)),
        loss=real(items.get(b"loss")),
    )


def _first(items: dict[bytes, bytes], keys: tuple[bytes, ...]) -> bytes | None:
    return next((items[key] for key in keys if key in items), None)


def _clock(text: bytes | None) -> tuple[float | None, float]:
    """Elapsed seconds and how finely they are told: as a number, or as ``H:MM:SS``."""
    if text is None:
        return None, 0.0
    seconds = finite(text)
    return (seconds, 0.0) if seconds is not None else (duration_s(text), 1.0)


def _mean_s(items: dict[bytes, bytes]) -> float | None:
    per_s = finite(items.get(b"train_steps_per_second"))
    return 1.0 / per_s if per_s else None
