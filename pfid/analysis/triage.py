"""The transferable order: masks, scaling, kernels, data-side levers, backends last.

Source: playbook sections 1 and 8. Each stage says what it found and whether the answer is there;
where it is, nothing behind it is looked at. Correctness comes first, since everything downstream
assumes it; data-side levers come before backends, since they need no dependency and multiply into
every other cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final

from pfid.analysis.levers import (
    BIGGER_BATCH,
    BUCKETING,
    COMPILE,
    CUDA_GRAPHS,
    FEED,
    FLASH_2,
    FLASH_4,
    FLEX,
    FUSED_LOSS,
    GROUPED_MM,
    OVERLAP,
    Dropped,
    Lever,
    Negative,
    sifted,
)
from pfid.analysis.loss_head import LossHead
from pfid.analysis.mask_structure import REASONS, MaskReading
from pfid.analysis.regime import Regime, RegimeReading
from pfid.analysis.scaling import ScalingFit
from pfid.domain.kernel import KernelClass
from pfid.domain.outcome import Outcome

DATA_GAIN_MIN: Final = 0.05
"""Share of the step (or of the padded tokens, without a fit) that makes a data-side answer."""
EXPOSED_MIN: Final = 0.3
"""Share of device time in communication that nothing hides."""
LOW_CLOSURE: Final = 0.6
LOSS_SHARE_MIN: Final = 0.1
CLASS_SHARE_MIN: Final = 0.3


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
        wrong: whether what it found makes everything behind it meaningless.
        figures: numbers it rests on.
    """

    stage: TriageStage
    looked: Looked
    said: str
    ends: bool = False
    levers: tuple[Lever, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    wrong: bool = False
    figures: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFacts:
    """What a trace says.

    Attributes:
        shares: of device time by class.
        closure: busy time over wall clock; None where that is not known.
        exposed: share of device time in communication with nothing beside it.
        old_share: share of device time in kernels of an older generation than the device's, for
            whose family a newer one is known.
    """

    shares: Mapping[KernelClass, float]
    closure: float | None
    exposed: float = 0.0
    old_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFacts:
    """What the order of records costs today, and at its tightest.

    Attributes:
        waste: share of padded positions today.
        best_waste: share with a full sort by length.
        gain: share of the step's time that this saves by the fit; None without one that closes.
    """

    waste: float
    best_waste: float
    gain: float | None


def of_masks(reading: MaskReading) -> Finding:
    """Correctness first."""
    row = reading.worst_row()
    if reading.outcome is Outcome.FAIL and row is not None:
        said = f"{REASONS[row.reason][1]} ({row.fact.layer_type}, {row.fact.case.value})"
        what = f"{said}: this is another model than the one meant, and no figure of it counts"
        return Finding(
            stage=TriageStage.MASKS, looked=Looked.FOUND, said=what, ends=True, wrong=True
        )
    if reading.outcome is Outcome.UNKNOWN:
        return _finding(TriageStage.MASKS, Looked.NO_ANSWER, "the masks could not be asserted")
    said = f"{len(reading.rows)} masks allow what their layer types say"
    return _finding(TriageStage.MASKS, Looked.FOUND, said)


def of_scaling(
    fit: ScalingFit, reading: RegimeReading, why: str, negatives: Sequence[Negative]
) -> Finding:
    """The regime, and the lever it leaves; launch-bound is an answer by itself."""
    if reading.regime is Regime.LAUNCH_BOUND:
        levers, dropped = sifted((CUDA_GRAPHS, COMPILE, BIGGER_BATCH), negatives)
        return Finding(
            stage=TriageStage.SCALING,
            looked=Looked.FOUND,
            said="launch-bound: a step four times as wide takes hardly longer",
            ends=bool(levers),
            levers=levers,
            dropped=dropped,
        )
    if reading.regime is Regime.NONE:
        return _finding(TriageStage.SCALING, Looked.NO_ANSWER, f"no regime: {why}")
    widest = fit.residuals[-1].width if fit.residuals else 0
    share = fit.quadratic_share(widest)
    part = "" if share is None else f", {share:.1%} of it quadratic at width {widest:,}"
    said = f"{reading.regime.value}{part}; {why}"
    figures = {} if share is None else {"quadratic_share": share}
    return _finding(TriageStage.SCALING, Looked.FOUND, said, figures)


def of_kernels(facts: KernelFacts, negatives: Sequence[Negative]) -> Finding:
    """The cost centre; a device that waits, or talks, is an answer by itself."""
    most = max(facts.shares, key=lambda kind: facts.shares[kind])
    figures = {kind.value: share for kind, share in facts.shares.items()}
    said = f"{most.value} takes {facts.shares[most]:.1%} of device time"
    levers: tuple[Lever, ...] = ()
    if facts.closure is not None and facts.closure < LOW_CLOSURE:
        said = f"the device works {facts.closure:.1%} of the wall clock and waits for the rest"
        levers = (FEED, CUDA_GRAPHS, COMPILE)
    elif facts.exposed >= EXPOSED_MIN:
        said = f"{facts.exposed:.1%} of device time is communication that nothing hides"
        levers = (OVERLAP,)
    elif facts.old_share > 0:
        said += f"; {facts.old_share:.1%} runs in kernels of an older generation than the device's"
    kept, dropped = sifted(levers, negatives)
    return Finding(
        stage=TriageStage.KERNELS,
        looked=Looked.FOUND,
        said=said,
        ends=bool(kept),
        levers=kept,
        dropped=dropped,
        figures=figures,
    )


def of_data(facts: DataFacts, negatives: Sequence[Negative]) -> Finding:
    """Padding: the lever that needs no dependency and wins under every diagnosis."""
    figures = {"waste": facts.waste, "best_waste": facts.best_waste}
    won = facts.gain
    if won is not None:
        figures["gain"] = won
    saved = facts.waste - facts.best_waste if won is None else won
    said = f"{facts.waste:.1%} of positions are padding, {facts.best_waste:.1%} at the tightest"
    if won is not None:
        said += f"; a step would be {won:.1%} shorter by the fit"
    if saved < DATA_GAIN_MIN:
        return _finding(TriageStage.DATA, Looked.FOUND, f"{said}: little to win", figures)
    kept, dropped = sifted((BUCKETING,), negatives)
    return Finding(
        stage=TriageStage.DATA,
        looked=Looked.FOUND,
        said=said,
        ends=bool(kept),
        levers=kept,
        dropped=dropped,
        figures=figures,
    )


def of_backends(
    regime: Regime | None,
    kernels: KernelFacts | None,
    loss: LossHead | None,
    negatives: Sequence[Negative],
) -> Finding:
    """The last resort: kernels and backends, by what takes the time."""
    wanted = _wanted(regime, kernels, loss)
    kept, dropped = sifted(wanted, negatives)
    if not wanted:
        said = "nothing that was looked at takes enough time for a backend to matter"
    elif not kept:
        said = "every backend that would be next has been measured to be of no use"
    else:
        said = "nothing cheaper is left: a backend, one at a time, with launches counted"
    return Finding(
        stage=TriageStage.BACKENDS,
        looked=Looked.FOUND if kept else Looked.NO_ANSWER,
        said=said,
        ends=bool(kept),
        levers=kept,
        dropped=dropped,
    )


def _wanted(
    regime: Regime | None, kernels: KernelFacts | None, loss: LossHead | None
) -> list[Lever]:
    shares = kernels.shares if kernels is not None else {}
    attention = shares.get(KernelClass.ATTENTION, 0.0)
    found: list[Lever] = []
    if attention >= CLASS_SHARE_MIN or (not shares and regime is Regime.QUADRATIC):
        found += [FLEX, FLASH_2, FLASH_4]
    if shares.get(KernelClass.ELEMENTWISE, 0.0) >= CLASS_SHARE_MIN:
        found.append(COMPILE)
    if shares.get(KernelClass.GEMM, 0.0) >= CLASS_SHARE_MIN:
        found.append(GROUPED_MM)
    if loss is not None and loss.whole_share >= LOSS_SHARE_MIN:
        found.append(FUSED_LOSS)
    return found


def not_looked(stage: TriageStage, looked: Looked, why: str) -> Finding:
    """A stage that was not looked at, and why."""
    return _finding(stage, looked, why)


def answer_of(findings: Sequence[Finding]) -> Finding | None:
    """The stage at which the answer is; None where there is none."""
    return next((one for one in findings if one.ends), None)


def whole(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Every stage: those behind the answer were not reached."""
    seen = {one.stage for one in findings}
    rest = [stage for stage in TriageStage if stage not in seen]
    why = "the answer was found before"
    return (*findings, *(_finding(stage, Looked.NOT_REACHED, why) for stage in rest))


def _finding(
    stage: TriageStage, looked: Looked, said: str, figures: Mapping[str, float] | None = None
) -> Finding:
    return Finding(stage=stage, looked=looked, said=said, figures=figures or {})
