"""Bars of tqdm and of the HF Trainer: which of them count optimizer steps, and their readings.

Blind spot: a loop whose bar counts micro-batches; what it counts is not in the line.
"""

import re
from enum import Enum
from functools import lru_cache
from typing import Final

from pfid.domain.names import slug
from pfid.domain.step import StepClock
from pfid.formats.dialects.bar import Bar
from pfid.formats.reading import Reading

NAME: Final = "tqdm"
STEP_UNITS: Final = frozenset(
    {"it", "step", "steps", "iter", "iters", "batch", "batches", "update"}
)
_EVALUATION: Final = re.compile(
    r"\b(?:eval|valid|validat|sanity|test|predict|infer)", re.IGNORECASE
)
_SKIPPING: Final = re.compile(r"\b(?:skipping|fast-?forward)", re.IGNORECASE)
_OTHER: Final = re.compile(
    r"\b(?:map|filter|token|download|load|generat|cast|sav|writ|pack|preproc|fetch|extract|flatten"
    r"|group|captur|process|convert|resolv|upload|add|sampl|quantiz|creat|setting|format|apply"
    r"|encod|read|build|shard|file|cach|epochs?\Z|comput|merg|collat|concat|shuffl|index)",
    re.IGNORECASE,
)
_TRAINING: Final = re.compile(
    r"\b(?:train|epoch|step|iter|batch|optimi|fit|fine-?tun|sft|dpo|grpo|ppo|update|loss|run)",
    re.IGNORECASE,
)
_LEARNING: Final = re.compile(r"\b(?:loss|lr|grad|ppl|acc)\w*\s*[=:]", re.IGNORECASE)
_EPOCH_OF: Final = re.compile(r"epoch\s*:?\s*\[?(\d{1,9})\s*/\s*\d{1,9}\]?\Z", re.IGNORECASE)


class BarRole(Enum):
    """What a bar counts."""

    STEPS = "steps"
    EVALUATION = "evaluation"
    RESUME_SKIP = "resume_skip"
    OTHER = "other"


def role_of(bar: Bar) -> BarRole:
    """Say what a bar counts, by its unit, description, place and postfix."""
    if not bar.description:
        # The HF Trainer draws its evaluation below the training bar and gives neither a name.
        if bar.nested:
            return BarRole.EVALUATION
        return BarRole.STEPS if bar.unit.lower() in STEP_UNITS else BarRole.OTHER
    role = _named_role(bar.description)
    if role in {BarRole.EVALUATION, BarRole.RESUME_SKIP}:
        return role
    if bar.unit.lower() not in STEP_UNITS:
        return BarRole.OTHER
    return BarRole.STEPS if role is BarRole.STEPS or _LEARNING.search(bar.postfix) else role


@lru_cache(maxsize=256)
def _named_role(description: str) -> BarRole:
    if _SKIPPING.search(description):
        return BarRole.RESUME_SKIP
    if _EVALUATION.search(description):
        return BarRole.EVALUATION
    if _OTHER.search(description) or not _TRAINING.search(description):
        return BarRole.OTHER
    return BarRole.STEPS


@lru_cache(maxsize=256)
def key_of(total: int | None, name: str = "") -> str:
    """Return what tells a bar from others: its total and its description."""
    key = f"{NAME}/{'?' if total is None else total}"
    return f"{key}/{slug(name)}" if name else key


def nameless(key: str) -> bool:
    """Whether a key is that of a bar without description."""
    return key.startswith(NAME) and key.count("/") == 1


def read(bar: Bar) -> Reading:
    """Return the reading of a bar that counts steps."""
    lap, name = 0, bar.description
    epoch = _EPOCH_OF.search(name) if name else None
    if epoch is not None and bar.total is not None:
        lap, name = max(int(epoch[1]) - 1, 0), name[: epoch.start()] + "epoch"
    return Reading(
        dialect=NAME,
        key=key_of(bar.total, name),
        step=bar.n + lap * (bar.total or 0),
        clock=StepClock.COUNTER,
        clock_s=bar.elapsed_s,
        from_zero=True,
        tick_s=1.0,
        redraws=True,
        rate_s=bar.rate_s,
        lap=lap,
        total=bar.total,
        rank=bar.rank,
    )
