"""Fail when a superseded figure still stands somewhere in the repository.

A number in a comment outlives its measurement: "4.3 hours to rebuild" was off by a factor of 106,
was believed twice, and was copied into a new launcher by the one who had measured the real value
(playbook 4.7). The ledger of claims (`claims.toml`) says which figures were superseded; each is
looked for in every file, as a whole number with its unit, in the ways it can be written.

Blind spot: figures in pictures, in sentences of words alone, or in files that are binary or
declared as vendored. What the ledger does not hold is not looked for.

When it fires: mend every place that is named, at the source first. A place that is meant to keep
the figure (a changelog, the ledger's own history) goes onto the claim's allow-list, with a reason.

If it says `claims_unreadable`: mend the ledger where its lines say; `pfid claims check` shows the
same.

If it says `search_failed`: its lines say why; the spec and its ledger belong into the repository
that is to be searched.

If it says `files_unread`: make the files readable that are named, or leave them out as vendored.

If it says `places_unlisted`: mend or allow what is listed, and look again for the others.
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
from pfid.spec.ports.preflight import FiguresFacts

NAMED_MAX: Final = 40

ANSWERS: Final = Answers(
    {
        "none_left": (Outcome.PASS, "no superseded figure stands in the repository"),
        "superseded_stands": (Outcome.FAIL, "a superseded figure still stands in the repository"),
        "claims_unreadable": (Outcome.UNKNOWN, "the ledger of claims cannot be read"),
        "search_failed": (Outcome.UNKNOWN, "the repository could not be searched"),
        "files_unread": (Outcome.UNKNOWN, "some files could not be looked at"),
        "places_unlisted": (
            Outcome.UNKNOWN,
            "more places than are listed: whether the others are allowed is not known",
        ),
        "nothing_superseded": (
            Outcome.NOT_APPLICABLE,
            "the ledger supersedes no figure, so none was looked for",
        ),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec names no ledger of claims"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    configured: bool
    problem: str
    places: int
    unread: int
    claims: int = 0
    allowed: int = reported(default=0)
    further: int = 0
    left_out: int = reported(default=0)
    named: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.figures.facts()
    known = facts or FiguresFacts()
    return Seen(
        configured=facts is not None,
        problem=known.problem,
        places=len(known.places),
        unread=len(known.unread),
        claims=known.claims,
        allowed=known.allowed,
        left_out=known.left_out,
        further=known.further,
        named=tuple(w for w in (*known.places, *known.unread, known.detail) if w)[:NAMED_MAX],
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    doubts = (
        ("not_configured", not seen.configured),
        (seen.problem, bool(seen.problem)),
        ("superseded_stands", seen.places > 0),
        ("nothing_superseded", seen.claims == 0),
        ("files_unread", seen.unread > 0),
        ("places_unlisted", seen.further > 0),
    )
    code = next((code for code, holds in doubts if holds), "none_left")
    figures = {
        "claims": (seen.claims, "1"),
        "places": (seen.places, "1"),
        "allowed": (seen.allowed, "1"),
        "left_out": (seen.left_out, "1"),
        "further": (seen.further, "1"),
    }
    return ANSWERS.say(code, figures=figures if seen.configured else {}, evidence=seen.named)


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    for name, code, facts in (
        ("none", "none_left", FiguresFacts(claims=2)),
        ("allowed places", "none_left", FiguresFacts(claims=2, allowed=1, left_out=3)),
        ("launcher", "superseded_stands", FiguresFacts(claims=2, places=("run.sh:3: 4.3 hours",))),
        ("one figure", "none_left", FiguresFacts(claims=1)),
        ("nothing fell yet", "nothing_superseded", FiguresFacts()),
        ("ledger", "claims_unreadable", FiguresFacts(problem="claims_unreadable")),
        ("search", "search_failed", FiguresFacts(problem="search_failed")),
        ("locked file", "files_unread", FiguresFacts(claims=2, unread=("secret.md",))),
        ("all allowed", "places_unlisted", FiguresFacts(claims=2, allowed=10_000, further=1)),
        ("not configured", "not_configured", None),
    ):
        yield ANSWERS.control(name, code, project_world(figures=facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="stale_numbers",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("figures",),
        runbook=__doc__ or "",
    )
