"""What a stage of a triage says, and where the answer is.

Source: playbook sections 1 and 8. Each stage says what it found and whether the answer is there;
where it is, nothing behind it is looked at. Correctness comes first, since everything downstream
assumes it; data-side levers come before backends, since they need no dependency and multiply into
every other cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from pfid.analysis.levers import Dropped, Lever
from pfid.analysis.regime import Regime


class TriageStage(Enum):
    """In their order."""

    MASKS = "masks"
    SCALING = "scaling"
    KERNELS = "kernels"
    DATA = "data"
    BACKENDS = "backends"


class Looked(Enum):
    """What became of a stage."""

    FOUND = "found"
    NO_ANSWER = "no_answer"
    """It was looked at and says why it cannot tell."""
    FAILED = "could_not_look"
    NOT_ASKED = "not_asked"
    NOT_REACHED = "not_reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One stage.

    Attributes:
        stage: which.
        looked: what became of it.
        said: one sentence.
        ends: whether the answer is here.
        levers: what to do, most promising first.
        dropped: what would be said here, had it not been measured to be of no use.
        running: what would be said here, were it not what runs already.
        wrong: whether what it found makes everything behind it meaningless.
        regime: what dominates the step, where this stage tells; None where it does not.
        figures: numbers it rests on.
    """

    stage: TriageStage
    looked: Looked
    said: str
    ends: bool = False
    levers: tuple[Lever, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    running: tuple[Lever, ...] = ()
    wrong: bool = False
    regime: Regime | None = None
    figures: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


def finding(
    stage: TriageStage, looked: Looked, said: str, figures: Mapping[str, float] | None = None
) -> Finding:
    """A stage that is no answer."""
    return Finding(stage=stage, looked=looked, said=said, figures=figures or {})


def not_looked(stage: TriageStage, looked: Looked, why: str) -> Finding:
    """A stage that was not looked at, and why."""
    return finding(stage, looked, why)


def answer_of(findings: Sequence[Finding]) -> Finding | None:
    """The stage at which the answer is; None where there is none."""
    return next((one for one in findings if one.ends), None)


def regime_of(findings: Sequence[Finding]) -> tuple[Regime | None, str]:
    """The regime and the stage that tells it; None, and why, where there is none."""
    told = next((one for one in findings if one.regime is not None), None)
    if told is not None:
        return told.regime, told.stage.value
    scaling = next((one for one in findings if one.stage is TriageStage.SCALING), None)
    return None, "no stage tells it" if scaling is None else scaling.said


def whole(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Every stage: those behind the answer were not reached."""
    seen = {one.stage for one in findings}
    rest = [stage for stage in TriageStage if stage not in seen]
    why = "the answer was found before"
    return (*findings, *(finding(stage, Looked.NOT_REACHED, why) for stage in rest))
