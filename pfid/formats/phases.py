"""Lines that say a run is doing something else than stepping."""

import re
from typing import Final

from pfid.domain.step import Phase

TRIGGERS: Final = (
    rb"\*\*\*\*\* Running",
    rb"Fast-forward",
    rb"Will skip the first",
    rb"saving (?:model |the |a )?checkpoint",
    rb"saved checkpoint",
    rb"Saving (?:model |the |a )?checkpoint",
    rb"Saving model to",
    rb"validation loss at",
    rb"train loss \d",
    rb"Compiling (?:the|each) ",
)
_PHASES: Final = tuple(
    (phase, re.compile(pattern))
    for phase, pattern in (
        (Phase.EVAL, rb"\*\*\*\*\* Running (?:Evaluation|Prediction|evaluation|prediction)"),
        (Phase.EVAL, rb"validation loss at (?:iteration|the end)|\bstep \d+: train loss \d"),
        (Phase.RESUME_SKIP, rb"Fast-forwarding the dataloader|Will skip the first \d"),
        (
            Phase.SAVE,
            rb"(?i:sav(?:ing|ed) (?:model |the |a )?checkpoint)|Saving model (?:checkpoint|to)",
        ),
        (Phase.COMPILE, rb"Compiling (?:the model|each \w+) (?:with|using) torch\.compile"),
    )
)


def phase_of(text: bytes) -> Phase | None:
    """Return the phase a line begins (or has just ended), None if it says nothing."""
    for phase, pattern in _PHASES:
        if pattern.search(text) is not None:
            return phase
    return None
