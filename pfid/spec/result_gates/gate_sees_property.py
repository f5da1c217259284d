"""``[gates.gate_sees_property]``: what the evaluation claims to see, and by which metrics too."""

from typing import Annotated, Literal

from msgspec import Meta, field

from pfid.spec.result_gates.rate import Named
from pfid.spec.result_gates.table import Table

Property = Literal["length", "collapse", "refusal", "memorisation"]
Against = Literal["reference", "prompt", "good", "corpus"]


class SeesMetric(Table, frozen=True, kw_only=True):
    """A gate of your own: a metric, and where the evaluation fails by it.

    Attributes:
        metric: as the records call it.
        function: ``module:function``, called in the spec's Python as ``function(output, against)``;
            left out: the one under ``null_has_positive_control``.
        against: what is handed to it beside the output: the known-good answer, the prompt, the
            good answer that the fault was planted into, or a passage of the corpus under
            ``memorisation``.
        fails_below: the evaluation fails where the mean is below.
        fails_above: where it is above.
        deadline_s: for all answers, good and faulty.
    """

    metric: Named
    function: Annotated[str, Meta(pattern=r"\A([^\s:]+:[^\s:]+)?\Z", max_length=500)] = ""
    against: Against = "reference"
    fails_below: float | None = None
    fails_above: float | None = None
    deadline_s: Annotated[float, Meta(gt=0, le=3_600)] = 300.0

    def problems(self) -> list[str]:
        """A metric by which nothing fails is no gate."""
        if self.fails_below is None and self.fails_above is None:
            return [".fails_below: state fails_below or fails_above"]
        return []


class SeesGate(Table, frozen=True, kw_only=True):
    """The section.

    Attributes:
        properties: that the gates should see, each tried with faults planted into good answers.
        sample: records at most that faults are planted into.
        metrics: gates of your own that look at the faulty answers beside the checks.
    """

    properties: Annotated[list[Property], Meta(min_length=1)]
    sample: Annotated[int, Meta(ge=10, le=10_000)] = 200
    metrics: Annotated[list[SeesMetric], Meta(max_length=100)] = field(default_factory=list)

    def problems(self) -> list[str]:
        """Of each metric, and none twice."""
        found = [f".metrics[{i}]{p}" for i, m in enumerate(self.metrics) for p in m.problems()]
        names = [m.metric for m in self.metrics]
        twice = [i for i, name in enumerate(names) if name in names[:i]]
        return found + [f".metrics[{i}].metric: is named twice" for i in twice]
