"""Metrics whose nulls must be earned, and the functions behind them."""

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from pfid.spec.result_gates.rate import Named
from pfid.spec.result_gates.table import Table

Kind = Literal["identical", "half", "unrelated", "empty", "other"]


class KnownInput(Table, frozen=True, kw_only=True):
    """An input of your own whose answer is known.

    Attributes:
        kind: what it is.
        args: positional arguments of the function.
        kwargs: named ones.
        expect: the answer; or the lowest and the highest that are right.
    """

    kind: Kind = "other"
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    expect: float | Annotated[list[float], Meta(min_length=2, max_length=2)]

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest right answer."""
        if isinstance(self.expect, list):
            return self.expect[0], self.expect[1]
        return self.expect, self.expect


class NullMetric(Table, frozen=True, kw_only=True):
    """A metric of the records and the function that computed it.

    Attributes:
        metric: as the records call it.
        function: ``module:function``, called in the spec's Python as ``function(output, against)``.
        against: what of a record it takes beside the output, by which it is known for the one that
            made the scores; ``nothing``: it takes the output alone; left out: whichever gives them.
        identical: what it answers for two identical texts.
        unrelated: what it answers for texts that share nothing, and for an empty one.
        tolerance: how far off an answer may be.
        inputs: in the place of the four that pfid brings.
        deadline_s: for all of them.
    """

    metric: Named
    function: Annotated[str, Meta(pattern=r"\A[^\s:]+:[^\s:]+\Z", max_length=500)]
    against: Literal["", "reference", "prompt", "corpus", "nothing"] = ""
    identical: float = 1.0
    unrelated: float = 0.0
    tolerance: Annotated[float, Meta(ge=0)] = 1e-6
    inputs: Annotated[list[KnownInput], Meta(max_length=1_000)] = field(default_factory=list)
    deadline_s: Annotated[float, Meta(gt=0, le=3_600)] = 60.0

    def problems(self) -> list[str]:
        """Two answers that differ are needed to tell a metric from one that is off."""
        if not self.inputs and self.identical == self.unrelated:
            return [".identical: is what unrelated texts get: nothing could be told by it"]
        turned = (i for i, one in enumerate(self.inputs) if one.ends[0] > one.ends[1])
        return [f".inputs[{i}].expect: the lowest comes first" for i in turned]


class NullGate(Table, frozen=True, kw_only=True):
    """The section. A null of a metric that is not named here stays unknown.

    Attributes:
        metrics: with their functions.
    """

    metrics: Annotated[list[NullMetric], Meta(max_length=1_000)] = field(default_factory=list)

    def problems(self) -> list[str]:
        """Of each metric, and none twice."""
        found = [f".metrics[{i}]{p}" for i, m in enumerate(self.metrics) for p in m.problems()]
        names = [m.metric for m in self.metrics]
        twice = [i for i, name in enumerate(names) if name in names[:i]]
        return found + [f".metrics[{i}].metric: is named twice" for i in twice]
