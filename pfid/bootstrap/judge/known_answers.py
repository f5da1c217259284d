"""The metrics of an evaluation, driven in the user's interpreter with what is known."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pfid.bootstrap.judge.driving import Ask, NotDrivenError, driven
from pfid.bootstrap.judge.metric_ties import Tie, ties, whose
from pfid.spec.ports.known_answers import DrivenMetric, KnownAnswer, KnownAnswersFacts
from pfid.spec.ports.results import ResultRecord
from pfid.spec.result_gates.null_has_positive_control import KnownInput, NullGate, NullMetric

TEXT: Final = (
    "The harbour master kept a second ledger, and every evening before the lamps were lit he wrote "
    "into it the names of ships that had not come in. Nobody asked him why. When the winter storms "
    "began the list grew longer, and he read it aloud to the empty quay."
)
OTHER: Final = (
    "Preheat an oven, two hundred degrees; whisk flour, salt, yeast; fold butter through slowly. "
    "Leave dough covered somewhere warm until doubled. Shape rolls, brush with milk, bake twenty "
    "minutes. Cool on racks; slice, serve alongside soup."
)
"""Shares no word with the other: one ``and`` in both is a token overlap of 0.04."""


def known_answers_facts(
    gate: NullGate | None,
    ask: Ask,
    records: Sequence[ResultRecord] = (),
    passage: Callable[[], str] = str,
) -> KnownAnswersFacts:
    """Drive every metric that the spec names.

    Args:
        gate: of the spec.
        ask: the user's interpreter.
        records: of the evaluation, both arms, whose scores the functions must give.
        passage: text of the corpus; "" where there is none.
    """
    metrics = gate.metrics if gate is not None else []
    return KnownAnswersFacts(
        metrics=tuple(_driven(metric, ask, ties(metric, records, passage)) for metric in metrics)
    )


def _driven(metric: NullMetric, ask: Ask, tied: Sequence[Tie]) -> DrivenMetric:
    inputs = metric.inputs or list(_four(metric))
    calls = [{"args": one.args, "kwargs": one.kwargs} for one in inputs]
    further = [{"args": args, "kwargs": {}} for tie in tied for args in tie.args]
    try:
        answers = driven(metric.function, [*calls, *further], ask, deadline_s=metric.deadline_s)
    except NotDrivenError as error:
        return _undriven(metric, error.problem, str(error))
    known = answers[: len(calls)]
    strange = [f"{one.kind}: {a}" for one, a in zip(inputs, known, strict=True)
               if isinstance(a, str)]  # fmt: skip
    if strange:
        return _undriven(metric, "no_answer", strange[0])
    own, detail = whose(metric, tied, answers[len(calls) :])
    return DrivenMetric(
        metric=metric.metric,
        function=metric.function,
        detail=detail,
        answers=tuple(_answers(metric, inputs, known)),
        own=own,
    )


def _answers(
    metric: NullMetric, inputs: Iterable[KnownInput], answers: Iterable[float]
) -> Iterable[KnownAnswer]:
    for one, answer in zip(inputs, answers, strict=True):
        low, high = one.ends
        yield KnownAnswer(
            kind=one.kind,
            low=low - metric.tolerance,
            high=high + metric.tolerance,
            answer=float(answer),
        )


def _undriven(metric: NullMetric, problem: str, detail: str) -> DrivenMetric:
    return DrivenMetric(
        metric=metric.metric, function=metric.function, problem=problem, detail=detail
    )


def _four(metric: NullMetric) -> Iterable[KnownInput]:
    """Identical, half verbatim, unrelated, empty: the playbook's own, against one text."""
    top, none = metric.identical, metric.unrelated
    ends = sorted((none, top))  # an exact match gives a half nothing, a recall of it may give all
    half = TEXT[: len(TEXT) // 2] + OTHER[len(OTHER) // 2 :]
    yield KnownInput(kind="identical", args=[TEXT, TEXT], expect=top)
    yield KnownInput(kind="half", args=[half, TEXT], expect=ends)
    yield KnownInput(kind="unrelated", args=[OTHER, TEXT], expect=none)
    yield KnownInput(kind="empty", args=["", TEXT], expect=none)
