"""What each arm lost in the earlier judgement of an evaluation, if it can be compared with."""

import datetime as dt
from dataclasses import dataclass

from pfid.analysis.lost_sides import Counts
from pfid.spec.ports.results import PreviousResult, ResultFacts, compared


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierLosses:
    """The earlier record.

    Attributes:
        counts: lost and all items of each arm; None where nothing can be compared with.
        said: that, or why not, in words.
    """

    counts: Counts | None
    said: str


def earlier_losses(facts: ResultFacts, check: str) -> EarlierLosses:
    """Look the record of the run before up.

    Args:
        facts: of the evaluation.
        check: under whose name the counts were kept.
    """
    if facts.previous_problem:
        said = "the earlier record cannot be read, so nothing here can be called new"
        return EarlierLosses(counts=None, said=said)
    foreign = _foreign(facts)
    if foreign:
        said = f"the earlier record is of {foreign} and is not compared with"
        return EarlierLosses(counts=None, said=said)
    before = facts.previous
    counts = _counts(before, check) if before is not None else None
    if before is None or counts is None:
        return EarlierLosses(counts=None, said="no earlier record of this evaluation counts losses")
    day = dt.datetime.fromtimestamp(before.judged_at_s, dt.UTC).date()
    return EarlierLosses(
        counts=counts, said=f"earlier record of {day.isoformat()}: {against(counts)}"
    )


def against(counts: Counts) -> str:
    """Both arms in words."""
    return f"{counts[0]} of {counts[1]} against {counts[2]} of {counts[3]}"


def _foreign(facts: ResultFacts) -> str:
    """What the earlier record was measured with otherwise: another cap loses other items."""
    earlier, base = facts.previous, facts.baseline
    pairs = (
        (earlier.candidate if earlier else None, facts.candidate.instrument),
        (earlier.baseline if earlier else None, base.instrument if base else None),
    )
    differs = [name for a, b in pairs if a and b for name in compared(a, b).differs]
    return f"another instrument ({', '.join(dict.fromkeys(differs))})" if differs else ""


def _counts(before: PreviousResult, check: str) -> Counts | None:
    held = before.figures.get(check, {})
    names = ("candidate_lost", "candidate_items", "baseline_lost", "baseline_items")
    a, b, c, d = (int(held.get(name, -1)) for name in names)
    return (a, b, c, d) if 0 <= a <= b and 0 <= c <= d and b and d else None
