"""Fail when the GPUs that the run needs are not free.

A run that starts beside another one halves both and measures neither; one that starts on memory
that nobody who lives holds runs out of it at the worst moment. Whoever is on a card is asked of the
driver; memory without a living holder is not ours and not idle.

Blind spot: somebody who comes after this look. Inside a container the driver's process ids say
nothing, and who is on a card is unknown.

When it fires: `pfid gpus` shows whose processes are on which card; choose others with
CUDA_VISIBLE_DEVICES, or wait. For orphaned memory see `pfid checks explain gpu_memory_orphaned`.

If it says `holders_unknown`, `cannot_look`: look with `pfid gpus` and `nvidia-smi`; in a container
whose processes are not seen, ask on the box itself.
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
)
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import CardFacts, CardsFacts

ANSWERS: Final = Answers(
    {
        "free": (Outcome.PASS, "as many GPUs are free as the run needs"),
        "in_use": (Outcome.FAIL, "too few GPUs are free: others are on them"),
        "memory_orphaned": (
            Outcome.FAIL,
            "too few GPUs are free: memory is held and nobody who lives holds it",
        ),
        "too_few": (Outcome.FAIL, "the box has fewer GPUs than the run needs"),
        "holders_unknown": (Outcome.UNKNOWN, "who is on the GPUs cannot be told"),
        "cannot_look": (Outcome.UNKNOWN, "the GPUs cannot be looked at"),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec asks for no GPUs"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    configured: bool
    problem: str
    needed: int
    cards: int
    free: int
    unknown: int
    orphaned: int


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.cards.facts()
    known = facts or CardsFacts(needed=0)
    cards = known.cards
    return Seen(
        configured=facts is not None,
        problem=known.problem,
        needed=known.needed,
        cards=len(cards),
        free=sum(c.holders == 0 and not c.orphaned_bytes for c in cards),
        unknown=sum(c.holders is None for c in cards),
        orphaned=sum(c.orphaned_bytes > 0 and not c.holders for c in cards),
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    doubts = (
        ("not_configured", not seen.configured),
        (seen.problem, bool(seen.problem)),
        ("too_few", seen.cards < seen.needed),
        ("free", seen.free >= seen.needed),
        ("holders_unknown", seen.free + seen.unknown >= seen.needed),
        ("memory_orphaned", seen.free + seen.orphaned >= seen.needed),
    )
    code = next((code for code, holds in doubts if holds), "in_use")
    figures = {"needed": (seen.needed, "1"), "cards": (seen.cards, "1"), "free": (seen.free, "1")}
    return ANSWERS.say(code, figures=figures if seen.configured else {})


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    free, busy = CardFacts(uuid="a"), CardFacts(uuid="b", holders=1)
    orphan, dark = CardFacts(uuid="c", orphaned_bytes=1), CardFacts(uuid="d", holders=None)
    for name, code, needed, cards in (
        ("free", "free", 1, (free,)),
        ("one of two", "free", 1, (busy, free)),
        ("busy", "in_use", 1, (busy,)),
        ("needs both", "in_use", 2, (free, busy)),
        ("busy with orphans", "in_use", 1, (CardFacts(uuid="e", holders=1, orphaned_bytes=1),)),
        ("orphaned", "memory_orphaned", 1, (orphan,)),
        ("too few", "too_few", 2, (free,)),
        ("container", "holders_unknown", 1, (dark,)),
        ("one known, one not", "holders_unknown", 2, (free, dark)),
    ):
        facts = CardsFacts(needed=needed, cards=cards)
        yield ANSWERS.control(name, code, project_world(cards=facts))
    hung = CardsFacts(problem="cannot_look", cards=(free,))
    yield ANSWERS.control("driver hangs", "cannot_look", project_world(cards=hung))
    yield ANSWERS.control("not configured", "not_configured", project_world(cards=None))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="gpu_free",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("cards",),
        runbook=__doc__ or "",
    )
