"""JSON lines with named keys: LLaMA-Factory's ``trainer_log.jsonl``, wandb, and one's own.

A preset maps what pfid wants (step, total, elapsed, seconds, ms, stamp, loss, tokens, width,
rank) to the keys of the file.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pfid.domain.step import StepClock
from pfid.formats.numbers import MAX_INDEX, duration_s, real, stamp_s
from pfid.formats.reading import Reading

NAME: Final = "jsonl"
PRESETS: Final[Mapping[str, Mapping[str, str]]] = {
    "llama_factory": {
        "step": "current_steps",
        "total": "total_steps",
        "elapsed": "elapsed_time",
        "loss": "loss",
    },
    "pfid": {
        "step": "step",
        "seconds": "seconds",
        "elapsed": "elapsed",
        "loss": "loss",
        "tokens": "tokens",
        "width": "width",
        "rank": "rank",
        "stamp": "timestamp",
    },
    "step_time": {"step": "step", "seconds": "step_time", "loss": "loss"},
    "step_time_ms": {"step": "step", "ms": "step_time_ms", "loss": "loss"},
    "global_step": {"step": "global_step", "seconds": "step_time", "loss": "loss"},
    "iteration": {"step": "iteration", "seconds": "iteration_time", "loss": "loss"},
    "wandb": {"step": "_step", "elapsed": "_runtime", "loss": "train/loss"},
}
_EVALUATED: Final = re.compile(
    r"(?:eval(?:uation)?|val(?:id(?:ation)?)?|test)[_/.: -].*"
    r"(?:loss|acc|ppl|perplexity|runtime|per_second)"
)
MAX_PREFIX_BYTES: Final = 64
MAX_SHAPES: Final = 64
FIELDS: Final = frozenset(
    {"step", "total", "elapsed", "seconds", "ms", "stamp", "loss", "tokens", "width", "rank"}
)


class JsonLines:
    """The presets, and which of them fits lines with which keys."""

    __slots__ = ("_chosen", "_presets", "triggers")

    def __init__(self, presets: Mapping[str, Mapping[str, str]]) -> None:
        """Take presets by name; each maps fields to keys and has a ``step``."""
        self._presets = presets
        self._chosen: dict[tuple[str, ...], str | None] = {}
        keys = sorted({keys["step"] for keys in presets.values()})
        alternatives = b"|".join(re.escape(key).encode() for key in keys)
        self.triggers: tuple[bytes, ...] = (rb'"(?:' + alternatives + rb')" ?:',)

    def read(self, text: bytes) -> Reading | None:
        """Return the reading by the preset that knows most of the line's keys; None without."""
        start = text.find(b"{")
        fields = _decode(text[start:]) if 0 <= start <= MAX_PREFIX_BYTES else None
        if fields is None:
            return None
        name = self._choose(tuple(fields))
        return None if name is None else _reading(fields, name, self._presets[name])

    def _choose(self, keys: tuple[str, ...]) -> str | None:
        if keys in self._chosen:
            return self._chosen[keys]
        able = {
            name: sum(key in keys for key in preset.values())
            for name, preset in self._presets.items()
            if preset["step"] in keys
        }
        name = max(able, key=able.__getitem__, default=None)
        if len(self._chosen) < MAX_SHAPES:
            self._chosen[keys] = name
        return name


def _decode(text: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:  # NaN and Infinity are no JSON, but what Python writes
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
    except RecursionError:
        return None
    return value if isinstance(value, dict) else None


def _reading(fields: Mapping[str, Any], name: str, keys: Mapping[str, str]) -> Reading | None:
    get = {field: fields.get(key) for field, key in keys.items()}
    index = _count(get.get("step"))
    if index is None:
        return None
    clock, clock_s, printed_s, tick_s = _times(get)
    return Reading(
        dialect=NAME,
        key=f"{NAME}/{name}",
        step=index,
        clock=clock,
        clock_s=clock_s,
        printed_s=printed_s,
        from_zero=clock is StepClock.COUNTER,
        tick_s=tick_s,
        total=_count(get.get("total")),
        interval=1 if printed_s is not None else None,
        rank=_count(get.get("rank")),
        tokens=_count(get.get("tokens")),
        width=_count(get.get("width")),
        loss=_real(get.get("loss")),
        evaluation=_evaluation(fields, keys.get("loss")),
    )


def _evaluation(fields: Mapping[str, Any], loss: str | None) -> bool:
    """Whether it has figures of an evaluation, and no loss but of that."""
    if loss in fields:
        return False
    evaluated = [key for key in fields if _EVALUATED.match(key)]
    others = (key for key in fields if "loss" in key)
    return bool(evaluated) and all(key in evaluated for key in others)


def _times(get: Mapping[str, Any]) -> tuple[StepClock, float | None, float | None, float]:
    seconds, milliseconds = _seconds(get.get("seconds")), _seconds(get.get("ms"))
    if seconds is not None or milliseconds is not None:
        printed = seconds if seconds is not None else (milliseconds or 0.0) / 1000
        return StepClock.PRINTED, None, printed, 0.0
    elapsed = get.get("elapsed")
    if isinstance(elapsed, str):
        return StepClock.COUNTER, duration_s(elapsed.encode("utf-8", "replace")), None, 1.0
    if _seconds(elapsed) is not None:
        return StepClock.COUNTER, _seconds(elapsed), None, 0.0
    stamp = get.get("stamp")
    if isinstance(stamp, str):
        return StepClock.STAMPED, stamp_s(stamp.encode("utf-8", "replace")), None, 0.0
    return StepClock.ARRIVAL, None, None, 0.0


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= MAX_INDEX or value != int(value):
        return None
    return int(value)


def _real(value: Any) -> float | None:
    if isinstance(value, str):
        return real(value.encode("utf-8", "replace"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _as_float(value)


def _seconds(value: Any) -> float | None:
    number = _real(value) if not isinstance(value, str) else None
    return number if number is not None and 0 <= number < float("inf") else None


def _as_float(value: float) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None
