"""Fail when a run would write down what was asked for and not what it came to.

A requested backend is a line of source; what the library settled on after it looked at what is
there is another claim, and only that one describes the run (playbook 4.3). Six weeks of conclusions
once rested on a field nobody had recorded. This looks at what a one-step smoke run at this commit
really wrote: what every backend resolved to that was requested or that the spec's `resolves` names
(attention, unless it says otherwise), the commit, the version of every library, the content of
every file that the spec speaks of. A manifest in which nothing was resolved shows nothing.

Blind spot: a file that the spec does not speak of, a backend that neither it nor the run names, and
a spec that says `resolves = []` of a library that does choose. A field that resolved as asked can
still have been given up later: that is another check's business (observed_consequence_present).

When it fires: call `pfid.trainer.observe("resolved.attn_implementation", ...)` with what
`model.config._attn_implementation` says, and declare the files in `[provenance]`; then launch the
smoke run again at this commit. Where no library chooses anything, say `resolves = []` in `[smoke]`.

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
        "resolved": (
            Outcome.PASS,
            "the manifest says what was resolved, of which code and which libraries",
        ),
        "nothing_to_resolve": (
            Outcome.PASS,
            "the spec says that nothing resolves here; the manifest has code, libraries and files",
        ),
        "not_resolved": (
            Outcome.FAIL,
            "nobody wrote down what a backend resolved to",
        ),
        "resolved_otherwise": (
            Outcome.FAIL,
            "something resolved to another value than was requested",
        ),
        "not_sampled": (
            Outcome.FAIL,
            "a commit, library version or declared file was not recorded",
        ),
        "edited": (Outcome.FAIL, "the manifest was edited after it was written"),
        **SMOKE_ANSWERS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen(SmokeSeen):
    """What the manifest shows."""

    edited: int
    otherwise: int
    resolved: int
    unresolved: int
    unsampled: int


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    return read_smoke(world, Seen)


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Only a run of this commit and environment shows what the two write down."""
    findings = (
        ("edited", seen.edited > 0),
        ("resolved_otherwise", seen.otherwise > 0),
        ("not_resolved", seen.unresolved > 0),
        ("not_sampled", seen.unsampled > 0),
    )
    code = smoke_code(seen, findings, "resolved" if seen.resolved else "nothing_to_resolve")
    return ANSWERS.say(code, figures={"unresolved": (seen.unresolved, "1")}, evidence=seen.said)


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    return smoke_controls(
        ANSWERS,
        (
            ("all there", "resolved", {}),
            ("unobserved, but resolved", "resolved", {"unobserved": ("attn_implementation",)}),
            ("nothing resolves", "nothing_to_resolve", {"resolved": 0}),
            ("nothing was said", "not_resolved", {"resolved": 0, "unresolved": ("attn",)}),
            ("asked only", "not_resolved", {"unresolved": ("attn_implementation",)}),
            ("downgraded", "resolved_otherwise", {"otherwise": ("attn: flex, sdpa",)}),
            ("no versions", "not_sampled", {"unsampled": ("library versions",)}),
            ("edited", "edited", {"edited": True}),
        ),
    )


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="provenance_records_resolved",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("manifest",),
        runbook=__doc__ or "",
    )
