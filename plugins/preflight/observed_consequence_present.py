"""Fail when a configured value stands in the manifest without anything that was observed of it.

A field that records a configured value is a claim about intent. If the failure to be feared is that
the configuration silently does not take effect, a second field must record a consequence, and the
pairing is the check; a settings dump alone is decorative (playbook 4.3). It must be seen by another
process than the one that assigned the value, else it is compared with itself. Judged on what a
one-step smoke run at this commit really wrote.

Blind spot: a consequence that is recorded and proves nothing. One step shows that step times are
recorded, not that compilation lasted: `recompile_limit` and `step_time_regime` watch that.

When it fires: the lines below name each field and how to have it observed, mostly by
`pfid.trainer.observe(key, value)` in the worker, or `pfid run --instrument` for step times.
`pfid provenance audit RUN` shows all of them.
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
    Stage,
    Verdict,
    World,
    hookimpl,
    reported,
)
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import ManifestFacts

NAMED_MAX: Final = 20
ANSWERS: Final = Answers(
    {
        "observed": (Outcome.PASS, "every configured field has an observed consequence beside it"),
        "intent_only": (
            Outcome.FAIL,
            "a configured field has no observed consequence: it is intent only",
        ),
        "contradicted": (Outcome.FAIL, "an observed consequence contradicts what was configured"),
        "self_observed": (
            Outcome.FAIL,
            "a consequence was observed by the process that assigned the value",
        ),
        "no_step_times": (
            Outcome.FAIL,
            "no step times were recorded: nothing shows what the run did",
        ),
        "no_manifest": (Outcome.UNKNOWN, "the smoke run left no manifest"),
        "manifest_unreadable": (Outcome.UNKNOWN, "the smoke run's manifest cannot be read"),
        "other_commit": (
            Outcome.UNKNOWN,
            "the smoke run was of another commit, or of a tree that was not clean",
        ),
        "smoke_failed": (Outcome.UNKNOWN, "the smoke run did not end well"),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec names no smoke run"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the manifest shows."""

    configured: bool
    problem: str
    same_commit: bool
    ended_well: bool
    contradicted: int
    unobserved: int
    own: int
    steps: int
    said: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.manifest.facts()
    known = facts or ManifestFacts()
    words = (*known.contradicted, *known.own, *known.unobserved, known.detail)
    return Seen(
        configured=facts is not None,
        problem=known.problem,
        same_commit=known.same_commit,
        ended_well=known.ended_well,
        contradicted=len(known.contradicted),
        unobserved=len(known.unobserved),
        own=len(known.own),
        steps=known.steps,
        said=tuple(word for word in words if word)[:NAMED_MAX],
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Only a run of this very commit shows what this commit writes down."""
    doubts = (
        ("not_configured", not seen.configured),
        (seen.problem, bool(seen.problem)),
        ("other_commit", not seen.same_commit),
        ("contradicted", seen.contradicted > 0),
        ("self_observed", seen.own > 0),
        ("intent_only", seen.unobserved > 0),
        ("no_step_times", seen.steps < 1),
        ("smoke_failed", not seen.ended_well),
    )
    code = next((code for code, holds in doubts if holds), "observed")
    return ANSWERS.say(
        code,
        figures={"unobserved": (seen.unobserved, "1"), "steps": (seen.steps, "steps")},
        evidence=seen.said,
    )


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    for name, code, facts in (
        ("all paired", "observed", _facts()),
        ("nothing configured", "observed", _facts(paired=0)),
        ("mask without delta", "intent_only", _facts(unobserved=("mask.sha256",))),
        ("nothing masked", "contradicted", _facts(contradicted=("mask.sha256",))),
        ("parent looked", "self_observed", _facts(own=("template.sha256",))),
        ("no steps", "no_step_times", _facts(steps=0)),
        ("no manifest", "no_manifest", _facts(problem="no_manifest")),
        ("no JSON", "manifest_unreadable", _facts(problem="manifest_unreadable")),
        ("other commit", "other_commit", _facts(same_commit=False)),
        ("died", "smoke_failed", _facts(ended_well=False)),
        ("not configured", "not_configured", None),
    ):
        yield ANSWERS.control(name, code, project_world(manifest=facts))


def _facts(**changed: object) -> ManifestFacts:
    known = {"steps": 1, "paired": 2, **changed}
    return ManifestFacts(**known)  # type: ignore[arg-type]


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="observed_consequence_present",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("manifest",),
        runbook=__doc__ or "",
    )
