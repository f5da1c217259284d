"""Counts of three ways to answer, in words and figures: what complies stands in front."""

from dataclasses import fields

from pfid.analysis.proportion import wilson
from pfid.analysis.walk_back import Ways


def compliance(ours: Ways, base: Ways | None, base_name: str) -> str:
    """How many comply; of the other arm too, where it was measured alike (else give None)."""
    said = f"{ours.comply} of {ours.items} comply ({_others(ours)})"
    if base is None or not base.items:
        return said
    return f"{said}, {base_name} {base.comply} of {base.items} ({_others(base)})"


def deflections(ours: Ways, base: Ways | None) -> str:
    """An artefact of the instrument does not care which arm it runs against (playbook 3.13)."""
    if base is None or not (ours.items and base.items) or (ours.deflect and base.deflect):
        return ""
    if not ours.deflect and not base.deflect:
        return "no deflection in either arm: the model is binary here"
    return "deflections in one arm only: they are seen where they are, the difference is real"


def ways_figures(ours: Ways, base: Ways | None) -> dict[str, tuple[float | None, str]]:
    """(value, unit) by name: all counts, and the refused share with Wilson's interval."""
    found: dict[str, tuple[float | None, str]] = {}
    for prefix, ways in (("", ours), ("baseline_", base)):
        if ways is not None:
            found |= {f"{prefix}{f.name}": (getattr(ways, f.name), "1") for f in fields(Ways)}
    if ours.items:
        interval = wilson(ours.refused, ours.items)
        found["refused_low"] = (interval.low, "ratio")
        found["refused"] = (ours.refused / ours.items, "ratio")
        found["refused_high"] = (interval.high, "ratio")
    return found


def _others(ways: Ways) -> str:
    unclear = f", {ways.unclear} unclear" if ways.unclear else ""
    return f"{ways.hard} hard, {ways.deflect} deflect{unclear}"
