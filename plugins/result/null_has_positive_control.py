"""Fail when a null stands on a broken metric, and hold it back until the metric was tried.

Zero for every item is what a probe says that found nothing, and what a probe says that does not
fire; nothing in the number tells which (playbook 4.6.2). The same holds for a metric that is equal
in both arms, and for one that is the same for every input: that is not measuring. Each of them is
unknown until the function behind it was driven with inputs whose answers are known: identical
texts, half verbatim, unrelated, empty.

Blind spot: a function that answers these rightly and was given other things in the evaluation (the
wrong field, truncated outputs). Metrics that are neither zero nor equal nor constant are not asked
about unless the spec names them.

When it fires: a wrong or constant answer is a broken instrument: mend it before the evaluation is
run again. Where a null is merely not earned, name the function under
``gates.null_has_positive_control``. Where one family of prompts alone is constant, report it as not
measured on this axis, never as a difference of zero.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import isclose
from typing import Any, Final

from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    NoLimits,
    Outcome,
    Scope,
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    reported,
)
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.ports.known_answers import DrivenMetric, KnownAnswer, KnownAnswersFacts
from pfid.spec.ports.results import Arm, ResultFacts
from pfid.spec.python_answers import PYTHON_ANSWERS, python_controls

ANSWERS: Final = Answers(
    {
        "nulls_earned": (Outcome.PASS, "every metric that is null was seen to be otherwise"),
        "no_nulls": (Outcome.PASS, "no metric is zero, equal in both arms or constant"),
        "wrong_answer": (Outcome.FAIL, "a metric answers wrongly what is known"),
        "constant_answer": (
            Outcome.FAIL,
            "a metric answers the same for every input: it does not measure",
        ),
        "null_not_earned": (
            Outcome.UNKNOWN,
            "a metric is zero, equal in both arms or constant, and was not seen to be otherwise",
        ),
        "control_proves_nothing": (
            Outcome.UNKNOWN,
            "no input of a metric has an answer other than its null",
        ),
        "no_answer": (Outcome.UNKNOWN, "a metric answered what is no number"),
        "metric_missing": (Outcome.UNKNOWN, "no record has a value of a metric that is named"),
        "no_scores": (Outcome.NOT_APPLICABLE, "the records hold no scores"),
        **PYTHON_ANSWERS,
    }
)
NULL_ITEMS_MIN: Final = 2
"""One item alone cannot be told from a constant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at.

    Attributes:
        metrics: that records have, or the spec names.
        nulls: metrics that are zero, equal in both arms, or constant.
        unearned: of those, the ones whose function was not driven.
        missing: named, and in no record.
        problem: of the first function that could not be driven.
        wrong: answers that are not what is known.
        constant: functions that answer the same for all.
        toothless: driven nulls of which no input could have shown otherwise.
        said: each of them in words.
    """

    metrics: int
    nulls: int
    unearned: int
    missing: int
    problem: str
    wrong: int
    constant: int
    toothless: int
    said: tuple[str, ...] = reported(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Null:
    """A metric that says nothing: how, and which one value it has, if it has but one."""

    metric: str
    how: str
    value: float | None


def observe(world: World) -> Seen:
    """Read; never decide."""
    facts = world.results.facts()
    driven = {one.metric: one for one in world.known_answers.facts().metrics}
    arms = [facts.candidate, *([facts.baseline] if facts.baseline is not None else [])]
    names = {name for held in arms for r in held.records for name, v in r.scores.items()
             if v is not None}  # fmt: skip
    unscored = {name for held in arms for r in held.records for name in r.scores} - names
    nulls = [null for name in sorted(names) for null in _nulls(facts, name)]
    metrics = {null.metric for null in nulls}
    answered = [one for one in driven.values() if one.answers]
    toothless = [n for n in nulls if n.metric in driven and not _could_show(driven[n.metric], n)]
    return Seen(
        metrics=len(names | set(driven) | unscored),
        nulls=len(metrics),
        unearned=len(metrics - set(driven)),
        missing=len((set(driven) | unscored) - names),
        problem=next((one.problem for one in driven.values() if one.problem), ""),
        wrong=sum(not answer.right for one in answered for answer in one.answers),
        constant=sum(len(a) > 1 and len({x.answer for x in a}) == 1
                     for a in (one.answers for one in answered)),
        toothless=len({null.metric for null in toothless}),
        said=(
            *(f"{name}: not one record has a score" for name in sorted(unscored - set(driven))),
            *_said(nulls, driven, names),
        ),
    )  # fmt: skip


def _nulls(facts: ResultFacts, name: str) -> Iterator[_Null]:
    """Every way in which a metric says nothing: in all, and in a family."""
    here = _values(facts.candidate, name)
    there = _values(facts.baseline, name) if facts.baseline is not None else {}
    whole = [value for values in here.values() for value in values]
    other = [value for values in there.values() for value in values]
    one, base = _only(whole), _only(other)
    if one is not None:
        yield _Null(metric=name, how=_constant(one), value=one)
    elif whole and other and isclose(_mean(whole), _mean(other), rel_tol=1e-12, abs_tol=1e-12):
        yield _Null(metric=name, how=f"{_mean(whole):g} in both arms", value=None)
    if base is not None and base != one:
        yield _Null(metric=name, how=f"{_constant(base)} of the baseline", value=base)
    for family, values in here.items():
        same = _only(values + there.get(family, []))
        if one is None and same is not None and len(here) > 1:
            how = f"{same:g} for every item of {family or 'prompts without a family'}: not measured"
            yield _Null(metric=name, how=how, value=same)


def _constant(value: float) -> str:
    return "zero for every item" if value == 0 else f"{value:g} for every item"


def _values(held: Arm, name: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for one in held.records:
        value = one.scores.get(name)
        if value is not None:
            found[one.family].append(value)
    return found


def _only(values: list[float]) -> float | None:
    """The one value that all have; a zero counts as one however few there are."""
    if not values or len(set(values)) > 1:
        return None
    return values[0] if len(values) >= NULL_ITEMS_MIN or values[0] == 0 else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _could_show(driven: DrivenMetric, null: _Null) -> bool:
    """Whether an input has a right answer that is not the null, and another has another."""
    if driven.problem:
        return True  # that is said by itself
    if null.value is not None:
        return any(not a.low <= null.value <= a.high for a in driven.answers)
    lows, highs = [a.low for a in driven.answers], [a.high for a in driven.answers]
    return bool(lows) and max(lows) > min(highs)


def _said(nulls: list[_Null], driven: dict[str, DrivenMetric], names: set[str]) -> Iterator[str]:
    for null in nulls:
        one = driven.get(null.metric)
        earned = "its function was driven" if one is not None and one.answers else "not earned"
        yield f"{null.metric}: {null.how}; {earned}"
    for one in driven.values():
        if one.metric not in names:
            yield f"{one.metric}: no record has it"
        if one.detail:
            yield f"{one.metric}: {one.function}: {one.detail}"
        for answer in one.answers:
            ends = f"{answer.low:g}..{answer.high:g}"
            right = "" if answer.right else f", should be {ends}"
            yield f"{one.metric}: {answer.kind}: {answer.answer:g}{right}"


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    doubts = (
        ("no_scores", seen.metrics < 1),
        ("constant_answer", seen.constant > 0),
        ("wrong_answer", seen.wrong > 0),
        (seen.problem, bool(seen.problem)),
        ("metric_missing", seen.missing > 0),
        ("null_not_earned", seen.unearned > 0),
        ("control_proves_nothing", seen.toothless > 0),
        ("nulls_earned", seen.nulls > 0),
    )
    code = next((code for code, holds in doubts if holds), "no_nulls")
    figures = {"metrics": (float(seen.metrics), "1"), "nulls": (float(seen.nulls), "1"),
               "not_earned": (float(seen.unearned), "1")}  # fmt: skip
    return ANSWERS.say(code, figures=figures, evidence=seen.said)


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first: the playbook's probe; then every way not to be."""
    fine = _driven()
    off = replace(fine, answers=tuple(replace(a, answer=0.0) for a in fine.answers))
    half = replace(fine.answers[0], answer=0.5)
    for name, code, scores, driven in (
        ("playbook's probe", "nulls_earned", (0.0,) * 72, (fine,)),
        ("one of seventy-two", "no_nulls", (*(0.0,) * 71, 0.4), (fine,)),
        ("nobody drove it", "null_not_earned", (0.0,) * 72, ()),
        ("one lone zero", "null_not_earned", (0.0,), ()),
        ("one lone value", "no_nulls", (0.4,), ()),
        ("constant and not zero", "null_not_earned", (0.7,) * 72, ()),
        ("does not fire", "constant_answer", (0.0,) * 72, (off,)),
        ("half for identical", "wrong_answer", (0.0,) * 72,
         (replace(fine, answers=(half, *fine.answers[1:])),)),
        ("wrong though not null", "wrong_answer", (0.1, 0.2),
         (replace(fine, answers=(half, *fine.answers[1:])),)),
        ("asked about nothing", "control_proves_nothing", (0.0,) * 72,
         (replace(fine, answers=fine.answers[2:3]),)),
        ("not asked at all", "control_proves_nothing", (0.0,) * 72, (replace(fine, answers=()),)),
        ("no number", "no_answer", (0.0,) * 72, (replace(fine, answers=(), problem="no_answer"),)),
        ("of another evaluation", "metric_missing", (0.1, 0.2),
         (fine, replace(fine, metric="overlap_b"))),
        ("scored nobody", "metric_missing", (None, None), ()),
    ):  # fmt: skip
        yield _control(name, code, scores, driven)
    bare = result_facts(arm([record(1), record(2)]))
    unasked = result_world(bare, known_answers=KnownAnswersFacts())
    yield ANSWERS.control("no scores", "no_scores", unasked)
    yield from _arm_controls(fine)
    yield from python_controls(
        ANSWERS,
        lambda code: _world((0.0,) * 72, (replace(fine, answers=(), problem=code),)),
    )


def _arm_controls(fine: DrivenMetric) -> Iterable[Control]:
    equal = (0.25, 0.75), (0.5, 0.5, 0.2, 0.8)
    for name, code, arms, driven in (
        ("equal in both arms", "null_not_earned", equal, ()),
        ("equal in both arms, driven", "nulls_earned", equal, (fine,)),
        ("apart", "no_nulls", ((0.25, 0.75), (0.5, 0.6)), ()),
        ("zero in the baseline alone", "null_not_earned", ((0.25, 0.75), (0.0,) * 72), ()),
        ("zero in the baseline, driven", "nulls_earned", ((0.25, 0.75), (0.0,) * 72), (fine,)),
    ):
        yield ANSWERS.control(name, code, _world(arms[0], driven, arms[1]))
    rp = [record(i, family="rp", scores={"overlap": 0.0}) for i in range(6)]
    story = [record(i, family="story", scores={"overlap": 0.1 * i}) for i in range(6)]
    frozen = result_facts(arm([*rp, *story]))
    yield ANSWERS.control(
        "one family frozen",
        "null_not_earned",
        result_world(frozen, known_answers=KnownAnswersFacts()),
    )


def _driven() -> DrivenMetric:
    """The playbook's own four inputs and what they gave."""
    known = (("identical", 1.0, 1.0, 1.0), ("half", 0.2, 0.9, 0.6538), ("unrelated", 0.0, 0.0, 0.0),
             ("empty", 0.0, 0.0, 0.0))  # fmt: skip
    answers = tuple(KnownAnswer(kind=k, low=a, high=b, answer=c) for k, a, b, c in known)
    return DrivenMetric(metric="overlap", function="control:overlap", answers=answers)


def _world(scores: Any, driven: tuple[DrivenMetric, ...], base: Any = ()) -> World:
    def held(values: Any) -> Arm:
        return arm(record(i, scores={"overlap": v}) for i, v in enumerate(values))

    facts = result_facts(held(scores), held(base) if base else None)
    return result_world(facts, known_answers=KnownAnswersFacts(metrics=driven))


def _control(name: str, code: str, scores: Any, driven: tuple[DrivenMetric, ...]) -> Control:
    return ANSWERS.control(name, code, _world(scores, driven))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="null_has_positive_control",
        stage=Stage.RESULT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("results", "known_answers"),
        runbook=__doc__ or "",
    )
