"""Fail when a configured value stands in the manifest without anything that was observed of it.

A field that records a configured value is a claim about intent. If the failure to be feared is that
the configuration silently does not take effect, a second field must record a consequence, and the
pairing is the check; a settings dump alone is decorative (playbook 4.3). It must be seen by another
process than the one that assigned the value, else it is compared with itself. Judged on what a
one-step smoke run at this commit, in the spec's interpreter as it is now, really wrote.

Blind spot: a consequence that is recorded and proves nothing. One step shows that step times are
recorded, not that compilation lasted: `recompile_limit` and `step_time_regime` watch that.

When it fires: its lines name each field and how to have it observed, mostly by
`pfid.trainer.observe(key, value)` in the worker, or `pfid run --instrument` for step times.
`pfid provenance audit RUN` shows all of them.

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
        **SMOKE_ANSWERS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen(SmokeSeen):
    """What the manifest shows."""

    contradicted: int
    own: int
    unobserved: int
    steps: int


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    return read_smoke(world, Seen)


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Only a run of this commit and environment shows what the two write down."""
    findings = (
        ("contradicted", seen.contradicted > 0),
        ("self_observed", seen.own > 0),
        ("intent_only", seen.unobserved > 0),
        ("no_step_times", seen.steps < 1),
    )
    code = smoke_code(seen, findings, "observed")
    return ANSWERS.say(
        code,
        figures={"unobserved": (seen.unobserved, "1"), "steps": (seen.steps, "steps")},
        evidence=seen.said,
    )


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    return smoke_controls(
        ANSWERS,
        (
            ("all paired", "observed", {}),
            ("nothing configured", "observed", {"paired": 0}),
            ("mask without delta", "intent_only", {"unobserved": ("mask.sha256",)}),
            ("nothing masked", "contradicted", {"contradicted": ("mask.sha256",)}),
            ("parent looked", "self_observed", {"own": ("template.sha256",)}),
            ("no steps", "no_step_times", {"steps": 0}),
        ),
    )


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
