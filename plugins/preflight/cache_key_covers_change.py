"""Fail when the project's own cache key stays the same although the meaning changed.

A cache is a liar when it is read under another meaning than it was made under: a loss mask that was
not in the key would have trained 813 turns back in, with no error, no other count and a manifest
that says the mask was applied (playbook 4.1). So the key function itself is driven, in the training
interpreter: in a copy of every auxiliary file one character is changed at its beginning, through
the middle and at its end, at the same path and of the same size and times, and then its length;
every constant argument gets another value. Each must change the key. Identical inputs must not: not
in another process, not under another date, not in another folder.

Blind spot: what the spec does not name. An encoder that changed under the same inputs is covered by
its version number alone, which somebody has to raise. A key that takes samples of a file can miss
an edit between two of them.

When it fires: hash the whole content of the file that is named, not its path, size or date; see
`pfid.trainer.cache_key`. A key that differs for the same inputs uses `hash()`, a set's order, an
address or the time. An argument that means nothing (a number of workers) belongs in `may_stay`.

If it says `nothing_tried`: name what goes into the key in the spec's `[cache_key]`: files, or
arguments.

If it says `file_unreadable`: see that the file which is named lies there and can be read.
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
from pfid.spec.ports.preflight import CacheKeyFacts
from pfid.spec.python_answers import PYTHON_ANSWERS, python_controls

ANSWERS: Final = Answers(
    {
        "covers": (
            Outcome.PASS,
            "every change that was tried changes the cache key, and nothing else does",
        ),
        "not_covered": (Outcome.FAIL, "the cache key stays the same although the meaning changed"),
        "not_stable": (
            Outcome.FAIL,
            "the cache key differs for identical inputs: a resume would never hit",
        ),
        "follows_place": (
            Outcome.FAIL,
            "the cache key differs for the same content in another folder or of another date",
        ),
        "nothing_tried": (
            Outcome.UNKNOWN,
            "nothing was changed, so nothing is known of the cache key",
        ),
        "file_unreadable": (
            Outcome.UNKNOWN,
            "an auxiliary file that goes into the key cannot be read",
        ),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec names no cache key"),
        **PYTHON_ANSWERS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    configured: bool
    problem: str
    unreadable: int
    unstable: int
    unmoved: int
    followed: int
    tried: int
    said: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.cache_key.facts()
    known = facts or CacheKeyFacts()
    words = (*known.unmoved, *known.unstable, *known.followed, *known.unreadable, known.detail)
    return Seen(
        configured=facts is not None,
        problem=known.problem,
        unreadable=len(known.unreadable),
        unstable=len(known.unstable),
        unmoved=len(known.unmoved),
        followed=len(known.followed),
        tried=known.tried,
        said=tuple(word for word in words if word),
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    doubts = (
        ("not_configured", not seen.configured),
        (seen.problem, bool(seen.problem)),
        ("not_stable", seen.unstable > 0),
        ("not_covered", seen.unmoved > 0),
        ("follows_place", seen.followed > 0),
        ("file_unreadable", seen.unreadable > 0),
        ("nothing_tried", seen.tried < 1),
    )
    code = next((code for code, holds in doubts if holds), "covers")
    figures = {"tried": (seen.tried, "1"), "unmoved": (seen.unmoved, "1")}
    return ANSWERS.say(code, figures=figures if seen.configured else {}, evidence=seen.said)


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    for name, code, facts in (
        ("covers", "covers", CacheKeyFacts(tried=3)),
        ("one file, one change", "covers", CacheKeyFacts(tried=1)),
        ("mask left out", "not_covered", CacheKeyFacts(tried=3, unmoved=("mask",))),
        ("other hash seed", "not_stable", CacheKeyFacts(tried=3, unstable=("in another process",))),
        ("date in it", "follows_place", CacheKeyFacts(tried=3, followed=("mask: another date",))),
        ("mask not there", "file_unreadable", CacheKeyFacts(tried=2, unreadable=("mask",))),
        ("nothing", "nothing_tried", CacheKeyFacts()),
        ("not configured", "not_configured", None),
    ):
        yield ANSWERS.control(name, code, project_world(cache_key=facts))
    yield from python_controls(
        ANSWERS, lambda code: project_world(cache_key=CacheKeyFacts(problem=code, tried=3))
    )


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="cache_key_covers_change",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("cache_key",),
        runbook=__doc__ or "",
    )
