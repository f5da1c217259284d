"""Why refusals of two arms cannot be held against each other (playbook 3.13)."""

from typing import Final

from pfid.analysis.walk_back import Ways
from pfid.spec.result_gates.refusal_retention import RefusalGate, StatedBaseline

ODD_READ: Final = 20
ODD_MISSED: Final = 11
"""Of so many refusals in odd wordings, to which no pattern was written, patterns miss so many."""


def undercounted() -> str:
    """What patterns miss: refusals have more wordings than are written down."""
    return (
        "read by patterns alone, which undercount refusals in odd wordings: of "
        f"{ODD_READ} held out, {ODD_MISSED} are taken for answers; name a classifier to stand in"
    )


def comparison_doubt(
    gate: RefusalGate, problem: str, ours: Ways, base: Ways | None, *, same: bool | None
) -> str:
    """The first reason, as a reason code of ``refusal_retention``; "" if there is none.

    Args:
        gate: of the spec.
        problem: why what reads the answers cannot be believed.
        ours: answers of the candidate.
        base: those of the other arm; None without one.
        same: whether both arms were measured alike, None if not known.
    """
    doubts = (
        ("axis_not_named", not (gate.axis.strip() and gate.abliterated.strip())),
        ("instrument_unproven", bool(problem)),
        ("no_items", not ours.items or (base is not None and not base.items)),
        ("other_axis", _axis(gate.axis) != _axis(gate.abliterated)),
        ("foreign_baseline", base is not None and same is False),
        ("foreign_baseline", base is None and gate.stated is not None),
        ("no_baseline", base is None),
        ("baseline_unknown", same is None),
    )
    return next((code for code, holds in doubts if holds), "")


def recorded_elsewhere(stated: StatedBaseline | None) -> str:
    """Somebody else's figure, shown as what it is."""
    if stated is None:
        return ""
    return f"{stated.refused}/{stated.items} was recorded elsewhere and is not compared with"


def _axis(name: str) -> str:
    return " ".join(name.casefold().replace("-", " ").replace("_", " ").split())
