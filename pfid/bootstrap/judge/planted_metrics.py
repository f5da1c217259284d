"""The user's own metrics put before planted faults: which of them make the evaluation fail."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from pfid.bootstrap.judge.driving import Ask, NotDrivenError, driven
from pfid.spec.ports.results import ResultRecord
from pfid.spec.result_gates.gate_sees_property import SeesMetric
from pfid.spec.result_gates.null_has_positive_control import NullGate

APART: Final = 1e-3
"""How far a mean over the good answers may lie from what their records say, as a share of it."""
Copies = Mapping[str, Sequence[ResultRecord]]
"""Faulty records by the name of their fault, in the order of the good ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricLook:
    """What one metric did.

    Attributes:
        name: as it is shown.
        why_not: why it could not be driven; "" if it was.
        failing: whether the evaluation fails by it over the good answers.
        sees: names of the faults over which it fails.
    """

    name: str
    why_not: str = ""
    failing: bool = False
    sees: frozenset[str] = field(default=frozenset())


def metric_looks(
    metrics: Sequence[SeesMetric],
    nulls: NullGate | None,
    good: Sequence[ResultRecord],
    copies: Copies,
    *,
    passage: str,
    ask: Ask,
) -> tuple[MetricLook, ...]:
    """Drive every metric over the good answers and over each faulty copy, in one go.

    Args:
        metrics: of the spec.
        nulls: where the functions of metrics stand that name none here.
        good: records with good answers.
        copies: the same with faults.
        passage: text of the corpus; "" where there is none.
        ask: the user's interpreter.
    """
    known = {m.metric: m.function for m in nulls.metrics} if nulls is not None else {}
    return tuple(
        _looked(one, one.function or known.get(one.metric, ""), good, copies, passage, ask)
        for one in metrics
    )


def _looked(
    metric: SeesMetric,
    function: str,
    good: Sequence[ResultRecord],
    copies: Copies,
    passage: str,
    ask: Ask,
) -> MetricLook:
    name = f"metric {metric.metric}"
    against = [_against(metric, record, passage) for record in good]
    if not function:
        return MetricLook(name=name, why_not="names no function")
    if None in against:
        return MetricLook(name=name, why_not=f"{metric.against}: some records have none")
    every = {"": good, **copies}
    calls = [
        {"args": [record.output, beside], "kwargs": {}}
        for records in every.values()
        for record, beside in zip(records, against, strict=True)
    ]
    try:
        answers = iter(driven(function, calls, ask, deadline_s=metric.deadline_s))
    except NotDrivenError as error:
        return MetricLook(name=name, why_not=f"{error.problem} {error}".strip())
    parts = {fault: list(islice(answers, len(records))) for fault, records in every.items()}
    strange = next((a for part in parts.values() for a in part if isinstance(a, str)), "")
    if strange:
        return MetricLook(name=name, why_not=strange)
    means = {fault: _mean(part) for fault, part in parts.items()}
    other = _not_its_own(metric, good, parts[""])
    if other:
        return MetricLook(name=name, why_not=other)
    return MetricLook(
        name=name,
        failing=_fails(metric, means[""]),
        sees=frozenset(fault for fault in copies if _fails(metric, means[fault])),
    )


def _against(metric: SeesMetric, record: ResultRecord, passage: str) -> str | None:
    given = {
        "reference": record.reference,
        "prompt": record.prompt or None,
        "good": record.output,
        "corpus": passage or None,
    }
    return given[metric.against]


def _not_its_own(metric: SeesMetric, good: Sequence[ResultRecord], answers: Sequence[float]) -> str:
    """A function that does not give the scores of the records is not the one that made them.

    Compared over the records that have a score; where none has, nothing ties the function to it.
    """
    if metric.against in ("good", "corpus"):
        return ""
    recorded = [record.scores.get(metric.metric) for record in good]
    both = [(s, a) for s, a in zip(recorded, answers, strict=True) if s is not None]
    if not both:
        return "no record has a score of it"
    said, mean = _mean([s for s, _ in both]), _mean([a for _, a in both])
    if abs(said - mean) <= APART * max(abs(said), 1.0):
        return ""
    return f"gives {mean:.4g} over the good answers, and their records say {said:.4g}"


def _fails(metric: SeesMetric, mean: float) -> bool:
    below, above = metric.fails_below, metric.fails_above
    return (below is not None and mean < below) or (above is not None and mean > above)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(len(values), 1)
