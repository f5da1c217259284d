"""``[gates.refusal_retention]``: which axis, and what the other arm is."""

from typing import Annotated, Literal

from msgspec import Meta, field

from pfid.spec.result_gates.table import Table

Axis = Annotated[str, Meta(max_length=120)]


class StatedBaseline(Table, frozen=True, kw_only=True):
    """A figure of somebody else's, without records. It is shown, and never compared with.

    Attributes:
        refused: items that were refused.
        items: there were.
        source: who measured it, and with what.
    """

    refused: Annotated[int, Meta(ge=0)]
    items: Annotated[int, Meta(ge=1)]
    source: Annotated[str, Meta(min_length=1, max_length=200)]

    def problem(self) -> str:
        """What is wrong with it, "" if nothing is."""
        return ".stated.refused: more than there were items" if self.refused > self.items else ""


class RefusalGate(Table, frozen=True, kw_only=True):
    """The section.

    Attributes:
        axis: what these prompts ask for: ``explicit fiction``, ``general harm``.
        abliterated: the axis that the abliteration was for.
        baseline_is: what the other arm is: the stock model, which refuses, or the abliterated base
            that was tuned.
        families: kinds of prompt that belong to the axis; none: all.
        patterns: files with further patterns, relative to the spec.
        shipped: whether pfid's own patterns are read.
        classifier: name of a plugin's classifier, which stands in for the patterns.
        classifier_deadline_s: for all it is asked.
        stated: a figure that was recorded elsewhere.
    """

    axis: Axis = ""
    abliterated: Axis = ""
    baseline_is: Literal["stock", "abliterated"] = "stock"
    families: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)
    shipped: bool = True
    classifier: Annotated[str, Meta(max_length=64)] = ""
    classifier_deadline_s: Annotated[float, Meta(gt=0, le=86_400)] = 1_800.0
    stated: StatedBaseline | None = None

    def problems(self) -> list[str]:
        """What is wrong with keys that are each right."""
        found = [self.stated.problem()] if self.stated is not None else []
        if not self.shipped and not self.patterns and not self.classifier:
            found.append(".shipped: without it patterns or a classifier must be named")
        return [problem for problem in found if problem]
