"""Fail when something that a file on disk already gives away would end the run hours later.

The expensive failure is the late one (playbook 4.2): a path that does not exist, a number out of
range, a scheduler the installed library does not know, a disk that is full at the third checkpoint.
All of it can be told before tokenizer, encode and weights.

Blind spot: what the spec does not declare, quotas that the file system does not report, and a disk
that others fill meanwhile.

When it fires: its lines name the file and key. For room, `keep` and `size_gb` of
`[checkpoints]` say what is reckoned with.

If it says `unreadable`: mend the file that its lines name, or correct its path in the spec; where
a line says that a key is null, or no number, give it one, or take it out of the spec.

If it says `disk_unknown`: see that the folder of the checkpoints, or one above it, is there.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    Outcome,
    Scope,
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
    reported,
)
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import DeclaredFacts

ANSWERS: Final = Answers(
    {
        "valid": (Outcome.PASS, "what the configuration names is there, in range and known"),
        "path_missing": (Outcome.FAIL, "a path that the run needs does not exist"),
        "out_of_range": (Outcome.FAIL, "a number of the configuration is out of its range"),
        "not_among": (
            Outcome.FAIL,
            "a word of the configuration is not one the installed library knows",
        ),
        "disk_too_small": (Outcome.FAIL, "checkpoints do not fit onto the disk"),
        "unreadable": (
            Outcome.UNKNOWN,
            "a part of the configuration cannot be read, or holds nothing to judge",
        ),
        "disk_unknown": (Outcome.UNKNOWN, "the room for checkpoints cannot be told"),
        "not_configured": (
            Outcome.NOT_APPLICABLE,
            "the spec declares nothing of the configuration",
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much room there must be.

    Attributes:
        headroom: free bytes over those that checkpoints take.
    """

    headroom: float = limit(1.1, unit="ratio", factor=1.05)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    looked_at: int
    missing: int
    out_of_range: int
    not_among: int
    unreadable: int
    needed_bytes: float | None
    free_bytes: float | None
    said: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.declared.facts() or DeclaredFacts()
    words = (*facts.missing, *facts.out_of_range, *facts.not_among, *facts.unreadable)
    return Seen(
        looked_at=facts.looked_at,
        missing=len(facts.missing),
        out_of_range=len(facts.out_of_range),
        not_among=len(facts.not_among),
        unreadable=len(facts.unreadable),
        needed_bytes=facts.needed_bytes,
        free_bytes=facts.free_bytes,
        said=words,
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    needed, free = seen.needed_bytes, seen.free_bytes
    doubts = (
        ("not_configured", seen.looked_at < 1),
        ("path_missing", seen.missing > 0),
        ("out_of_range", seen.out_of_range > 0),
        ("not_among", seen.not_among > 0),
        (
            "disk_too_small",
            needed is not None and free is not None and free < needed * limits.headroom,
        ),
        ("unreadable", seen.unreadable > 0),
        ("disk_unknown", needed is not None and free is None),
    )
    code = next((code for code, holds in doubts if holds), "valid")
    figures = {
        "looked_at": (seen.looked_at, "1"),
        "free": (free, "bytes"),
        "needed": (needed, "bytes"),
    }
    return ANSWERS.say(code, figures=figures, evidence=seen.said)


def controls(limits: Limits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    need = 100e9
    enough, short = need * limits.headroom * 1.02, need * limits.headroom * 0.98
    for name, code, changed in (
        ("valid", "valid", {"needed_bytes": need, "free_bytes": 10 * need}),
        ("no checkpoints", "valid", {}),
        ("just enough room", "valid", {"needed_bytes": need, "free_bytes": enough}),
        ("not quite enough", "disk_too_small", {"needed_bytes": need, "free_bytes": short}),
        ("more than ever", "disk_too_small", {"needed_bytes": 99 * need, "free_bytes": 10 * need}),
        ("no data", "path_missing", {"missing": ("data",)}),
        ("rate", "out_of_range", {"out_of_range": ("rate",)}),
        ("scheduler", "not_among", {"not_among": ("cosin",)}),
        ("no file", "unreadable", {"unreadable": ("file",)}),
        ("no disk", "disk_unknown", {"needed_bytes": need, "free_bytes": None}),
    ):
        facts = DeclaredFacts(looked_at=3, **changed)
        yield ANSWERS.control(name, code, project_world(declared=facts))
    yield ANSWERS.control("not configured", "not_configured", project_world(declared=None))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="config_validated_early",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        reads=("declared",),
        runbook=__doc__ or "",
    )
