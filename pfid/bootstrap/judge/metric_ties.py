"""Whether a function is the one that made the scores of the records: it gives them again.

Any function can answer known inputs rightly; a null is earned by the metric's own alone (playbook
4.6.2), and a positive control of another instrument is none. Where every score is the one that a
metric gives for nothing found, or for all, any function gives them that finds as little: then its
name has to be the metric's, or the spec has to state inputs and what the metric answers to them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pfid.spec.ports.results import ResultRecord
from pfid.spec.result_gates.null_has_positive_control import NullMetric

RECORDS_MAX: Final = 24
"""So many records tell one function from another."""
APART: Final = 1e-3
"""How far an answer may lie from the score, as a share of it."""
TELLING: Final = RECORDS_MAX // 2
"""So many of them have a score that few functions give."""
TRIED: Final = ("reference", "prompt", "corpus", "nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """What a function is called with to be known by.

    Attributes:
        against: what it gets beside the output.
        args: of each call.
        scores: what the records say.
        items: of the records.
    """

    against: str
    args: Sequence[list[Any]]
    scores: Sequence[float]
    items: Sequence[str]


def ties(
    metric: NullMetric, records: Sequence[ResultRecord], passage: Callable[[], str]
) -> tuple[Tie, ...]:
    """Every way in which the records, of both arms, let a function be known."""
    scored = [r for r in records if r.scores.get(metric.metric) is not None]
    rare = [r for r in scored if not _common(metric, r.scores[metric.metric])]
    common = [r for r in scored if _common(metric, r.scores[metric.metric])]
    held = _spaced(rare, TELLING if common else RECORDS_MAX)
    held += _spaced(common, RECORDS_MAX - len(held))
    if not held:
        return ()
    named = (metric.against,) if metric.against else TRIED
    text = passage() if "corpus" in named else ""
    return tuple(_tie(metric, against, held, text) for against in named
                 if _has(against, held, text))  # fmt: skip


def whose(metric: NullMetric, tied: Sequence[Tie], answers: Sequence[Any]) -> tuple[str, str]:
    """Whether the answers are the scores: ``tied``, ``other``, ``untied``; and words about that.

    Where the spec does not say what the function takes, another answer says nothing: it may take
    another thing. Nor does it of a corpus, of which it is given a passage.
    """
    given = iter(answers)
    told = ""
    for tie in tied:
        odd = next(_odd(metric, tie, [next(given) for _ in tie.args]), "")
        if not odd:
            return _by_its_scores(metric, tie)
        told = told or f"with {tie.against}: {odd}"
    other = metric.against in ("reference", "prompt", "nothing") and bool(tied)
    return ("other" if other else "untied"), told


def _by_its_scores(metric: NullMetric, tie: Tie) -> tuple[str, str]:
    """Scores that any function gives which finds nothing tie none."""
    tells = len(set(tie.scores)) > 1 or not _common(metric, tie.scores[0])
    if tells or metric.inputs or is_named_for(metric.function, metric.metric):
        return "tied", ""
    return "untied", (
        f"gives {tie.scores[0]:g}, as every record says, and so does any function that is "
        f"{tie.scores[0]:g} there; state under inputs what {metric.metric} answers, or name the "
        "function that is called so"
    )


def is_named_for(function: str, metric: str) -> bool:
    """Whether a metric's words all stand in the name of a function or of its module."""
    module, _, name = function.partition(":")
    words = _words_in(f"{module.rpartition('.')[2]} {name}")
    wanted = _words_in(metric.partition(",")[0])
    return bool(wanted) and wanted <= words


def _words_in(name: str) -> set[str]:
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return set(re.findall(r"[a-z]+|[0-9]+", apart.lower()))


def _common(metric: NullMetric, score: float | None) -> bool:
    """Whether a score is what many a function gives: nothing found, or all of it."""
    return score in {0.0, 1.0, metric.unrelated, metric.identical}


def _spaced(records: Sequence[ResultRecord], most: int) -> list[ResultRecord]:
    step = max(len(records) // max(most, 1), 1)
    return list(records[::step][:most])


def _odd(metric: NullMetric, tie: Tie, answers: Sequence[Any]) -> Iterator[str]:
    for item, score, answer in zip(tie.items, tie.scores, answers, strict=True):
        if isinstance(answer, str):
            yield f"{item}: {answer}"
        elif abs(answer - score) > max(metric.tolerance, APART * abs(score)):
            yield f"{item}: gives {answer:.4g}, and its record says {score:.4g}"


def _has(against: str, records: Sequence[ResultRecord], passage: str) -> bool:
    if against == "corpus":
        return bool(passage)
    if against == "nothing":
        return True
    return all(getattr(record, against) for record in records)


def _tie(metric: NullMetric, against: str, records: Sequence[ResultRecord], passage: str) -> Tie:
    return Tie(
        against=against,
        args=[[record.output, *_beside(against, record, passage)] for record in records],
        scores=[record.scores[metric.metric] or 0.0 for record in records],
        items=[record.item for record in records],
    )


def _beside(against: str, record: ResultRecord, passage: str) -> list[str]:
    if against == "nothing":
        return []
    return [passage if against == "corpus" else str(getattr(record, against))]
