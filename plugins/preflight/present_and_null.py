"""Fail when a manifest leaves a key out instead of writing null.

A manifest that omits a key when there was nothing to report cannot be told from one of a harness
too old to know the key: an adapter trained without a safeguard looks just like one trained with it.
Present-and-null is a statement; absent is an accident (playbook 4.8). Judged on what a one-step
smoke run at this commit really wrote: every key of pfid's own schema, every standard field and
variable, both sides of every pair that the spec names, and the keys that it adds.

Blind spot: a key that is there, null, and should not be: see observed_consequence_present.

When it fires: write every key always, null when unused. A manifest that lacks pfid's own keys was
written by another version, or edited.

If it says `no_manifest`, `other_commit`, `other_environment`, `smoke_failed`,
`manifest_unreadable`: launch the smoke run again at this commit, with the spec's interpreter: `pfid
run --spec SPEC -- CMD`, which is to end with 0.

If it says `python_unanswered`: see that the spec's interpreter starts and answers: what the smoke
run was launched with is held against its libraries.
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
)
from pfid.spec.smoke_answers import (
    SMOKE_ANSWERS,
    SmokeSeen,
    read_smoke,
    smoke_code,
    smoke_controls,
)

ANSWERS: Final = Answers(
    {
        "all_present": (Outcome.PASS, "every key is there, null where it is unused"),
        "key_absent": (Outcome.FAIL, "a key is absent where null should stand"),
        **SMOKE_ANSWERS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen(SmokeSeen):
    """What the manifest shows."""

    absent: int


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    return read_smoke(world, Seen)


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Only a run of this commit and environment shows what the two write down."""
    findings = (("key_absent", seen.absent > 0),)
    code = smoke_code(seen, findings, "all_present")
    return ANSWERS.say(code, figures={"absent": (seen.absent, "1")}, evidence=seen.said)


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    return smoke_controls(
        ANSWERS,
        (
            ("all there", "all_present", {}),
            ("nothing observed, all there", "all_present", {"unobserved": ("a",)}),
            ("one left out", "key_absent", {"absent": ("fields.mask.sha256",)}),
        ),
    )


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
