"""The first stages and the data's: masks, scaling, padding. What trace and backends say is apart.

Source: playbook sections 1, 3.2 and 8.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pfid.analysis.levers import (
    BIGGER_BATCH,
    BUCKETING,
    COMPILE,
    CUDA_GRAPHS,
    Negative,
    sifted,
)
from pfid.analysis.mask_structure import REASONS, MaskReading
from pfid.analysis.regime import Regime, RegimeReading
from pfid.analysis.scaling import ScalingFit
from pfid.analysis.triage_findings import Finding, Looked, TriageStage, finding
from pfid.domain.outcome import Outcome

DATA_GAIN_MIN: Final = 0.05
"""Share of the step (or of the padded tokens, without a fit) that makes a data-side answer."""


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
        return finding(TriageStage.MASKS, Looked.NO_ANSWER, "the masks could not be asserted")
    said = f"{len(reading.rows)} masks allow what their layer types say"
    return finding(TriageStage.MASKS, Looked.FOUND, said)


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
            regime=reading.regime,
        )
    if reading.regime is Regime.NONE:
        return finding(TriageStage.SCALING, Looked.NO_ANSWER, f"no regime: {why}")
    widest = fit.residuals[-1].width if fit.residuals else 0
    share = fit.quadratic_share(widest)
    part = "" if share is None else f", {share:.1%} of it quadratic at width {widest:,}"
    said = f"{reading.regime.value}{part}; {why}"
    figures = {} if share is None else {"quadratic_share": share}
    return Finding(
        stage=TriageStage.SCALING,
        looked=Looked.FOUND,
        said=said,
        regime=reading.regime,
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
        return finding(TriageStage.DATA, Looked.FOUND, f"{said}: little to win", figures)
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
