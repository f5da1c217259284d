"""Fail when an argument that will be given does not exist in the installed library.

Validating a value is not validating the parameter: a ratio in range went to an argument that had
been deleted, and the run died after the encode and the load of all weights (playbook 4.2). Only the
signature that is installed where training runs counts; documentation has been wrong both ways. An
argument that is taken and means something else (`warmup_steps` below 1 is a ratio) fails too.

Blind spot: arguments that vanish into `**kwargs` are seen, what becomes of them is not: that is
UNKNOWN. Whether a value is a good one is nobody's business here.

When it fires: the message names the argument and what it is called now, if that can be told. Keep
the portable unit in the configuration and convert where the arguments are built
(`pfid.trainer.warmup_steps_from_ratio`).

If it says `swallowed`, `no_signature`: name the class or function that takes the arguments in the
end.

If it says `target_missing`: install it into the training interpreter, or correct its name in the
spec.

If it says `arguments_unreadable`, `nothing_given`: see that the spec names the file, and the table
in it, that hold the arguments.
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
from pfid.spec.ports.preflight import KwargsFacts, TargetFacts
from pfid.spec.python_answers import PYTHON_ANSWERS, python_controls

ANSWERS: Final = Answers(
    {
        "accepted": (
            Outcome.PASS,
            "every argument exists in the installed library and means what it says",
        ),
        "unknown_argument": (Outcome.FAIL, "an argument does not exist in the installed library"),
        "meaning_changed": (
            Outcome.FAIL,
            "an argument is taken and means something else than it says",
        ),
        "swallowed": (
            Outcome.UNKNOWN,
            "an argument vanishes into keyword arguments that nobody can follow",
        ),
        "no_signature": (Outcome.UNKNOWN, "the signature of what is called cannot be read"),
        "target_missing": (
            Outcome.UNKNOWN,
            "what is called cannot be imported in the training interpreter",
        ),
        "arguments_unreadable": (
            Outcome.UNKNOWN,
            "the arguments cannot be read out of the configuration",
        ),
        "nothing_given": (Outcome.UNKNOWN, "no argument is given, so none was looked at"),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec names nothing that is called"),
        **PYTHON_ANSWERS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    configured: bool
    problem: str
    unknown: int
    changed: int
    unseen: int
    tried: int
    said: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.kwargs.facts()
    targets = facts.targets if facts is not None else ()
    return Seen(
        configured=facts is not None,
        problem=next((t.problem for t in targets if t.problem), ""),
        unknown=sum(len(t.unknown) for t in targets),
        changed=sum(len(t.changed) for t in targets),
        unseen=sum(len(t.unseen) for t in targets),
        tried=sum(t.tried for t in targets),
        said=tuple(line for t in targets for line in _words(t)),
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    doubts = (
        ("not_configured", not seen.configured),
        ("unknown_argument", seen.unknown > 0),
        ("meaning_changed", seen.changed > 0),
        (seen.problem, bool(seen.problem)),
        ("swallowed", seen.unseen > 0),
        ("nothing_given", seen.tried < 1),
    )
    code = next((code for code, holds in doubts if holds), "accepted")
    figures = {
        "arguments": (seen.tried, "1"),
        "unknown": (seen.unknown, "1"),
        "changed": (seen.changed, "1"),
    }
    return ANSWERS.say(code, figures=figures if seen.configured else {}, evidence=seen.said)


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    removed = (("warmup_ratio", "warmup_steps"),)
    for name, code, facts in (
        ("all taken", "accepted", _facts()),
        ("removed", "unknown_argument", _facts(unknown=removed)),
        (
            "removed, other fails",
            "unknown_argument",
            _facts(problem="no_signature", unknown=removed),
        ),
        ("ratio", "meaning_changed", _facts(changed=(("warmup_steps", "is a ratio"),))),
        ("swallowed", "swallowed", _facts(unseen=(("group_by_length", ""),))),
        ("builtin", "no_signature", _facts(problem="no_signature")),
        ("not installed", "target_missing", _facts(problem="target_missing")),
        ("no file", "arguments_unreadable", _facts(problem="arguments_unreadable")),
        ("none", "nothing_given", _facts(tried=0)),
        ("not configured", "not_configured", None),
    ):
        yield ANSWERS.control(name, code, project_world(kwargs=facts))
    yield from python_controls(ANSWERS, lambda code: project_world(kwargs=_facts(problem=code)))


def _words(target: TargetFacts) -> Iterable[str]:
    for name, near in target.unknown:
        yield f"{target.target} does not take {name!r}" + (f"; is it {near!r}?" if near else "")
    for name, why in target.changed:
        yield f"{target.target} takes {name!r}, but {why}"
    for name, near in target.unseen:
        yield f"{target.target} swallows {name!r}" + (f"; is it {near!r}?" if near else "")
    if target.problem:
        yield f"{target.target}: {target.detail or target.problem}"


def _facts(**changed: object) -> KwargsFacts:
    known = {"target": "transformers:TrainingArguments", "tried": 4, **changed}
    return KwargsFacts(targets=(TargetFacts(**known),))  # type: ignore[arg-type]


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="kwargs_by_name",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        severity=Severity.CRITICAL,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("kwargs",),
        runbook=__doc__ or "",
    )
