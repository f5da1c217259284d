"""Fail when a null stands on a broken metric, and hold it back until the metric was tried.

Zero for every item is what a probe says that found nothing, and what a probe says that does not
fire; nothing in the number tells which (playbook 4.6.2). The same holds for a metric that is equal
in both arms, and for one that is the same for every input: that is not measuring. Each of them is
unknown until the function behind it was driven with inputs whose answers are known: identical
texts, half verbatim, unrelated, empty. That it is the function behind it is shown by the records of
both arms: driven over their outputs it gives their scores. Scores that are all zero (or all what
identical texts get) show nothing of the kind, for any function gives them that finds as little:
then the function or its module must be called what the metric is, or the spec must state inputs
and what the metric answers to them; else the null stays unknown.

Blind spot: a function that answers these rightly and was given other things in the evaluation (the
wrong field, truncated outputs). A name is no proof: a function that is called like the metric and
is another one passes where every score is zero. Metrics that are neither zero nor equal nor
constant are not asked about unless the spec names them.

When it fires: a wrong or constant answer is a broken instrument: mend it before the evaluation is
run again. Where a null is merely not earned, name the function under
``gates.null_has_positive_control``. Where one family of prompts alone is constant, report it as not
measured on this axis, never as a difference of zero.

If it says `null_not_earned`, `function_untied`: name the function that made the scores under
`gates.null_has_positive_control`, with inputs of which you know the answer.

If it says `not_its_own`: name the function that really made the scores: this one gives others over
the same outputs.

If it says `control_proves_nothing`, `no_answer`: give the metric an input whose answer is a number
and not its null.

If it says `metric_missing`: call the metric as the records do, or map it under
`records.fields.scores`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pfid.analysis.null_metrics import Null, could_show, nulls_of
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
from pfid.spec.ports.results import Arm
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
        "not_its_own": (
            Outcome.UNKNOWN,
            "the function of a null gives other scores than the records hold: it did not make them",
        ),
        "function_untied": (
            Outcome.UNKNOWN,
            "nothing shows that the function of a null is the one that made its scores",
        ),
        "no_answer": (Outcome.UNKNOWN, "a metric answered what is no number"),
        "metric_missing": (Outcome.UNKNOWN, "no record has a value of a metric that is named"),
        "no_scores": (Outcome.NOT_APPLICABLE, "the records hold no scores"),
        **PYTHON_ANSWERS,
    }
)


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
        foreign: driven nulls whose function gives other scores than the records hold.
        untied: driven nulls of whose function nothing shows that it made their scores.
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
    foreign: int
    untied: int
    said: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Read; never decide."""
    facts = world.results.facts()
    driven = {one.metric: one for one in world.known_answers.facts().metrics}
    arms = [facts.candidate, *([facts.baseline] if facts.baseline is not None else [])]
    names = {name for held in arms for r in held.records for name, v in r.scores.items()
             if v is not None}  # fmt: skip
    unscored = {name for held in arms for r in held.records for name in r.scores} - names
    nulls = [null for name in sorted(names) for null in nulls_of(facts, name)]
    metrics = {null.metric for null in nulls}
    answered = [one for one in driven.values() if one.answers]
    toothless = [n for n in nulls if n.metric in driven and not could_show(driven[n.metric], n)]
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
        foreign=_owned(metrics, driven, "other"),
        untied=_owned(metrics, driven, "untied"),
        said=(
            *(f"{name}: not one record has a score" for name in sorted(unscored - set(driven))),
            *_said(nulls, driven, names),
        ),
    )  # fmt: skip


def _owned(metrics: Iterable[str], driven: Mapping[str, DrivenMetric], own: str) -> int:
    held = [driven[name] for name in metrics if name in driven]
    return sum(one.own == own and not one.problem for one in held)


def _said(nulls: list[Null], driven: dict[str, DrivenMetric], names: set[str]) -> Iterator[str]:
    for null in nulls:
        one = driven.get(null.metric)
        earned = "its function was driven" if one is not None and one.answers else "not earned"
        if one is not None and one.answers and one.own != "tied":
            earned = "a function was driven that is not shown to be its own"
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
        ("not_its_own", seen.foreign > 0),
        ("function_untied", seen.untied > 0),
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
        ("another metric's function", "not_its_own", (0.0,) * 72, (replace(fine, own="other"),)),
        ("records to tell by are missing", "function_untied", (0.0,) * 72,
         (replace(fine, own="untied"),)),
        ("untied and no null", "no_nulls", (0.1, 0.2), (replace(fine, own="untied"),)),
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
    return DrivenMetric(metric="overlap", function="control:overlap", answers=answers, own="tied")


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
