"""Fail when a metric does not answer what is already known, or cannot be told from one that is off.

A clean zero is the least self-evidencing result an instrument produces: it is the correct output of
a probe that found nothing and the exact output of a probe that does not fire (playbook 4.6.2). So
every declared metric is driven, in the training interpreter, with inputs whose answers are known;
at least one of them must not be zero, and not all may be the same.

Blind spot: a metric that is right on these inputs and wrong on others. Choose them as the playbook
does: identical, half the same, unrelated, empty.

When it fires: its lines name the input, the answer and what it should have been.

If it says `no_answer`: let the metric return a number; its lines name the input and what came.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

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
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import MetricFacts, MetricsFacts
from pfid.spec.python_answers import PYTHON_ANSWERS, python_controls

ANSWERS: Final = Answers(
    {
        "answers_known": (Outcome.PASS, "every metric answers what is known, and can go both ways"),
        "wrong_answer": (Outcome.FAIL, "a metric answers an input whose answer is known wrongly"),
        "constant_answer": (
            Outcome.FAIL,
            "a metric answers the same for every input: it does not measure",
        ),
        "no_positive_control": (
            Outcome.FAIL,
            "no input of a metric has an answer other than zero: its zero means nothing",
        ),
        "no_answer": (Outcome.UNKNOWN, "a metric answered what is no number"),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec names no metrics"),
        **PYTHON_ANSWERS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    metrics: int
    problem: str
    wrong: int
    constant: int
    without_positive: int
    said: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.metrics.facts()
    metrics = facts.metrics if facts is not None else ()
    words = [f"{m.function}: {w}" for m in metrics for w in (*m.wrong, m.detail) if w]
    return Seen(
        metrics=len(metrics),
        problem=next((m.problem for m in metrics if m.problem), ""),
        wrong=sum(len(m.wrong) for m in metrics),
        constant=sum(len(m.answers) > 1 and len(set(m.answers)) == 1 for m in metrics),
        without_positive=sum(not any(m.expected) for m in metrics),
        said=tuple(words),
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    doubts = (
        ("not_configured", seen.metrics < 1),
        ("no_positive_control", seen.without_positive > 0),
        ("constant_answer", seen.constant > 0),
        ("wrong_answer", seen.wrong > 0),
        (seen.problem, bool(seen.problem)),
    )
    code = next((code for code, holds in doubts if holds), "answers_known")
    return ANSWERS.say(code, figures={"metrics": (seen.metrics, "1")}, evidence=seen.said)


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    fine = {"answers": (1.0, 0.65, 0.0), "expected": (1.0, 0.65, 0.0)}
    for name, code, changed in (
        ("known", "answers_known", fine),
        ("one input", "answers_known", {"answers": (1.0,), "expected": (1.0,)}),
        ("off by a half", "wrong_answer", {**fine, "wrong": ("identical: 0.5, not 1",)}),
        ("zero for all", "constant_answer", {**fine, "answers": (0.0, 0.0, 0.0)}),
        ("only zeros asked", "no_positive_control", {"answers": (0.0,), "expected": (0.0,)}),
        ("none at all", "no_answer", {**fine, "problem": "no_answer"}),
    ):
        yield ANSWERS.control(name, code, project_world(metrics=_facts(**changed)))
    yield ANSWERS.control("not configured", "not_configured", project_world(metrics=None))
    yield from python_controls(
        ANSWERS, lambda code: project_world(metrics=_facts(**fine, problem=code))
    )


def _facts(**changed: object) -> MetricsFacts:
    known = {"function": "control:overlap", **changed}
    return MetricsFacts(metrics=(MetricFacts(**known),))  # type: ignore[arg-type]


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="instrument_has_positive_control",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("metrics",),
        runbook=__doc__ or "",
    )
