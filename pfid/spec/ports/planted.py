"""Faults planted into good answers, and which gates saw them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFault:
    """One kind of fault in one copy of the evaluation.

    Attributes:
        name: ``truncated``, ``padded``, ``looped``, ``refused``, ``memorised``.
        property: that it harms.
        problem: why it could not be planted or judged; "" if it could.
        detail: words about that.
        answers: good answers there were.
        able: those in which it can show: a short answer has no length to lose.
        delivered: those in which it was found again, read back through the seam checks read.
        seen_by: checks, and metrics of the user's, that failed on it and had not without it.
        failing: those that fail on the answers as they are, so that nothing is seen by them.
        undriven: metrics of the user's that it could not be put before, each with why.
    """

    name: str
    property: str
    problem: str = ""
    detail: str = ""
    answers: int = 0
    able: int = 0
    delivered: int = 0
    seen_by: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    undriven: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedFacts:
    """Every fault of every property that the spec declares."""

    faults: tuple[PlantedFault, ...]
