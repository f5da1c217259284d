"""Fail when a manifest leaves a key out instead of writing null.

A manifest that omits a key when there was nothing to report cannot be told from one of a harness
too old to know the key: an adapter trained without a safeguard looks just like one trained with it.
Present-and-null is a statement; absent is an accident (playbook 4.8). Judged on what a one-step
smoke run at this commit really wrote: every key of pfid's own schema, and those that the spec adds.

Blind spot: a key that is there, null, and should not be: see observed_consequence_present.

When it fires: write every key always, null when unused. A manifest that lacks pfid's own keys was
written by another version, or edited.
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
        "all_present": (Outcome.PASS, "every key is there, null where it is unused"),
        "key_absent": (Outcome.FAIL, "a key is absent where null should stand"),
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
    absent: int
    said: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.manifest.facts()
    known = facts or ManifestFacts()
    words = (*known.absent, known.detail)
    return Seen(
        configured=facts is not None,
        problem=known.problem,
        same_commit=known.same_commit,
        ended_well=known.ended_well,
        absent=len(known.absent),
        said=tuple(word for word in words if word)[:NAMED_MAX],
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Only a run of this very commit shows what this commit writes down."""
    doubts = (
        ("not_configured", not seen.configured),
        (seen.problem, bool(seen.problem)),
        ("other_commit", not seen.same_commit),
        ("key_absent", seen.absent > 0),
        ("smoke_failed", not seen.ended_well),
    )
    code = next((code for code, holds in doubts if holds), "all_present")
    return ANSWERS.say(code, figures={"absent": (seen.absent, "1")}, evidence=seen.said)


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    for name, code, facts in (
        ("all there", "all_present", _facts()),
        ("nothing observed, all there", "all_present", _facts(unobserved=("a",))),
        ("one left out", "key_absent", _facts(absent=("fields.mask.sha256",))),
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
        name="present_and_null",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("manifest",),
        runbook=__doc__ or "",
    )
