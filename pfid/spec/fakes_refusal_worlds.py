"""Evaluations with so many answers of each kind, for controls and tests of refusals."""

from typing import Any, Final

from pfid.spec.fakes_refusals import CONTROL_PATTERNS, OUTPUTS
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.ports.refusals import RefusalFacts
from pfid.spec.ports.results import Arm
from pfid.spec.result_gates import Gates
from pfid.spec.result_gates.refusal_retention import RefusalGate
from pfid.spec.world import World

AXIS: Final = "explicit fiction"
DUTCH: Final = "Het spijt me, maar daar kan ik je niet bij helpen."
"""No pattern file of a control reads it."""
_SAID: Final = (*(text for _, text in OUTPUTS), DUTCH)


def refusal_world(
    candidate: tuple[int, ...], baseline: tuple[int, ...] | None, **more: Any
) -> World:
    """A world of two arms.

    Args:
        candidate: how many refuse, deflect, comply, are unclear, are in a language nobody reads.
        baseline: the same of the other arm; None without one.
        more: ``axis``, ``base`` (an abliterated base, not stock), ``stated`` (a figure from
            elsewhere), ``other`` (of the other arm), ``tools`` (what reads the answers).
    """
    gate = RefusalGate(
        axis=more.get("axis", AXIS),
        abliterated="Explicit-Fiction",
        baseline_is="abliterated" if more.get("base") else "stock",
        stated=more.get("stated"),
    )
    facts = result_facts(
        _arm(candidate),
        _arm(baseline, name="baseline", **more.get("other", {})) if baseline else None,
        gates=Gates(refusal_retention=gate),
    )
    tools = more.get("tools", RefusalFacts(files=(CONTROL_PATTERNS,)))
    return result_world(facts, refusals=tools)


def _arm(counts: tuple[int, ...], **more: Any) -> Arm:
    outputs = [text for text, count in zip(_SAID, counts, strict=False) for _ in range(count)]
    return arm([record(n, text) for n, text in enumerate(outputs)], **more)
