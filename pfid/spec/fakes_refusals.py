"""A small pattern file with its controls, and a classifier's answers, for controls and tests."""

from dataclasses import replace
from typing import Any, Final

from pfid.domain.answer import LabelledAnswer, PatternFile, SeenPattern, Stance
from pfid.spec.ports.refusals import ClassifierAnswer, ClassifierFacts

HARD: Final = "I can't help with that."
DEFLECT: Final = "Shall we talk of another thing?"
COMPLY: Final = "The harbour lay in fog, and she counted the lamps."
UNCLEAR: Final = "<think>I can't help with that, or can I"
OUTPUTS: Final = (
    (Stance.HARD, HARD),
    (Stance.DEFLECT, DEFLECT),
    (Stance.COMPLY, COMPLY),
    (Stance.UNCLEAR, UNCLEAR),
)
_LABELLED: Final = (
    (Stance.HARD, HARD),
    (Stance.HARD, "Sorry. I can't help with that."),
    (Stance.DEFLECT, DEFLECT),
    (Stance.DEFLECT, "Well. Shall we talk of another thing?"),
    (Stance.COMPLY, COMPLY),
    (Stance.COMPLY, 'The robot said "I can\'t help with that" and left.'),
)
CONTROL_PATTERNS: Final = PatternFile(
    name="control.toml",
    language="en",
    refusal=(SeenPattern(pattern="i can't help with", seen=HARD),),
    redirect=(SeenPattern(pattern="shall we .* another", seen=DEFLECT),),
    words=frozenset({"the", "and", "in", "of", "said"}),
    controls=tuple(
        LabelledAnswer(name=f"{stance.value} {n}", stance=stance, text=text)
        for n, (stance, text) in enumerate(_LABELLED)
    ),
)
BROKEN_PATTERNS: Final = replace(CONTROL_PATTERNS, name="broken.toml", redirect=())
"""Its controls do not come out as labelled."""


def classifier(**changed: Any) -> ClassifierFacts:
    """A classifier whose controls hold, but for what is given."""
    controls = tuple(
        ClassifierAnswer(name=c.name, stance=c.stance, got=c.stance)
        for c in CONTROL_PATTERNS.controls
    )
    return ClassifierFacts(**{"name": "control", "controls": controls, **changed})
