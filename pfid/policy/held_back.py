"""What is judged over other records than were declared counts for nothing, whoever judges."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Verdict
from pfid.spec.ports.results import Arm, Doubt
from pfid.spec.reasons import RECORDS_INCOMPLETE

COUNTS_THEM: Final = "records_complete"
"""The check whose own answer this is."""
BELIEVED: Final = (Doubt.NONE, Doubt.NOT_DECLARED)
JUDGED: Final = (Outcome.PASS, Outcome.FAIL)


def held_back(check: str, verdict: Verdict, arms: Iterable[Arm | None]) -> Verdict:
    """The verdict, or UNKNOWN where an arm holds other records than it should.

    Args:
        check: whose verdict.
        verdict: as the check gave it.
        arms: it was judged over.
    """
    doubted = [a for a in arms if a is not None and a.doubt not in BELIEVED]
    if not doubted or check == COUNTS_THEM or verdict.outcome not in JUDGED:
        return verdict
    counts = ", ".join(_count(arm) for arm in doubted)
    alone = f"over these records alone: {verdict.outcome.value}, {verdict.reason}"
    return replace(
        verdict,
        outcome=Outcome.UNKNOWN,
        reason=RECORDS_INCOMPLETE,
        summary=f"judged over other records than were declared ({counts}): it counts for nothing",
        evidence=(f"{alone}: {verdict.summary}", *verdict.evidence),
    )


def _count(arm: Arm) -> str:
    bad = f", {arm.bad_total} bad" if arm.bad_total else ""
    bad += ", a file given twice" if arm.copies else ""
    bad += ", files that are alike" if arm.twins else ""
    return f"{len(arm.records)} of {'?' if arm.declared is None else arm.declared}{bad}"
