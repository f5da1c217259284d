"""The facts of several logs of one run, taken together."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from pfid.domain.inside import Inside
from pfid.spec.ports.log import LogFacts, LossSeen, Marker, MarkerSeen

LOSSES_MAX: Final = 64
NEWEST: Final = 16
"""Losses at a log's end that say which log is in trouble now."""


def together(parts: Iterable[LogFacts]) -> LogFacts | None:
    """Add the facts up; None if there are none.

    Every log is held to be one run by itself: two logs of one writer each are no second writer,
    so of ``writers`` the largest counts, not the sum.
    """
    facts = tuple(parts)
    if len(facts) < 2:
        return facts[0] if facts else None
    dialects: dict[str, None] = {}
    for part in facts:
        dialects.update(dict.fromkeys(part.dialects))
    return LogFacts(
        bytes_before_run=sum(p.bytes_before_run for p in facts),
        bytes_read=sum(p.bytes_read for p in facts),
        nul_prefix_bytes=sum(p.nul_prefix_bytes for p in facts),
        truncations=sum(p.truncations for p in facts),
        moved=any(p.moved for p in facts),
        writers=max(p.writers for p in facts),
        rewinds=sum(p.rewinds for p in facts),
        resumes=sum(p.resumes for p in facts),
        markers=_markers(facts),
        losses=_losses(facts),
        dialects=tuple(dialects),
        inside=_inside(facts),
    )


def without_place(facts: LogFacts) -> LogFacts:
    """What a log told that another one goes on for: what it counted, not how it stood last."""
    return replace(facts, moved=False, losses=())


def counted_alone(facts: LogFacts) -> LogFacts:
    """What counts, without words of the log and with the newest losses only."""
    markers = {marker: replace(seen, line="") for marker, seen in facts.markers.items()}
    return replace(facts, markers=markers, losses=facts.losses[-NEWEST:])


def _markers(facts: tuple[LogFacts, ...]) -> dict[Marker, MarkerSeen]:
    found: dict[Marker, MarkerSeen] = {}
    for part in facts:
        for marker, seen in part.markers.items():
            known = found.get(marker)
            found[marker] = seen if known is None else _both(known, seen)
    return found


def _both(a: MarkerSeen, b: MarkerSeen) -> MarkerSeen:
    first, second = (b, a) if _earlier(b, a) else (a, b)
    last = [one.last_at_s for one in (a, b) if one.count and one.last_at_s is not None]
    return replace(
        first,
        count=first.count + second.count,
        quoted=first.quoted + second.quoted,
        last_at_s=max(last, default=None),
    )


def _earlier(a: MarkerSeen, b: MarkerSeen) -> bool:
    if not a.count or not b.count:
        return bool(a.count)
    return (a.first_at_s or 0.0) < (b.first_at_s or 0.0)


def _losses(facts: tuple[LogFacts, ...]) -> tuple[LossSeen, ...]:
    """The losses of one log, since two logs tell the same ones twice.

    The one with most bad losses at its end, so that no rank's finite losses hide another's NaN;
    among equals the one that told most.
    """
    return max((p.losses for p in facts), key=lambda losses: (_bad(losses), len(losses)))[
        -LOSSES_MAX:
    ]


def _inside(facts: tuple[LogFacts, ...]) -> Inside | None:
    """The step files of all ranks taken together; dynamo's figures are those of the busiest."""
    parts = [p.inside for p in facts if p.inside is not None]
    if not parts:
        return None
    named = next((p for p in parts if p.accounting), parts[0])
    return Inside(
        asked=any(p.asked for p in parts),
        attached=sum(p.attached for p in parts),
        reported=sum(p.reported for p in parts),
        explicit=any(p.explicit for p in parts),
        optimizers=tuple(dict.fromkeys(name for p in parts for name in p.optimizers)),
        given_up=any(p.given_up for p in parts),
        lost=sum(p.lost for p in parts),
        accounting=named.accounting,
        peak_flops_per_s=named.peak_flops_per_s,
        dynamo=max((p.dynamo for p in parts), key=lambda counts: sum(counts.values())),
    )


def _bad(losses: tuple[LossSeen, ...]) -> int:
    return sum(not math.isfinite(seen.value) for seen in losses[-NEWEST:])
