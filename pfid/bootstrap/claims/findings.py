"""What is wrong with the claims of a ledger, decided purely (playbook sections 4.7 and 5).

A claim is measured, or it has a date on which it stops standing. What people or models agree on is
neither: readers of the same page are no second instrument.
"""

import datetime as dt
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pfid.bootstrap.preflight.figures import wanted_of
from pfid.config.claims import Claim, Ledger
from pfid.domain.outcome import Outcome
from pfid.formats.figures.wanted import is_same_figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that a ledger must not be left with.

    Attributes:
        outcome: FAIL, or UNKNOWN where it could not be looked.
        code: what kind of thing.
        key: of the claim; "" if it is about none.
        text: in words, with what to do.
        where: a place, as ``file:line``.
    """

    outcome: Outcome
    code: str
    key: str
    text: str
    where: str = ""


def findings_of(
    ledger: Ledger, on: dt.date, digest: Callable[[str], str | None]
) -> Iterator[Finding]:
    """Judge each claim, and the claims of each key together.

    Args:
        ledger: the claims.
        on: the day on which they are judged.
        digest: sha256 of an artefact by its path in the ledger; None where it cannot be read.
    """
    if not ledger.claims:
        yield Finding(
            outcome=Outcome.UNKNOWN,
            code="no_claims",
            key="",
            text="the ledger holds no claim, so there is nothing to judge: pfid claims add KEY",
        )
    for claim in ledger.claims:
        yield from _of_live(ledger, claim, on) if claim.live else _of_fallen(ledger, claim)
        yield from _of_artefact(claim, digest)
        yield from _of_described(claim, digest)
    for key in dict.fromkeys(claim.key for claim in ledger.claims):
        yield from _contradiction([c for c in ledger.of(key) if c.live])


def is_measured(claim: Claim) -> bool:
    """Whether an instrument said so, and nobody else."""
    return claim.source.kind == "measured" and claim.status in ("measured", "negative")


def same_value(one: Claim, other: Claim) -> bool:
    """Whether two claims of a key say the same: by their figures, or by their words."""
    if one.ends and other.ends:
        return is_same_figure(wanted_of(one), wanted_of(other))
    return not one.ends and not other.ends and one.text == other.text


def value_of(claim: Claim) -> str:
    """Its figure with the unit, or its words."""
    if not claim.ends:
        return claim.text
    return f"{'..'.join(f'{end:g}' for end in claim.ends)} {claim.unit}".strip()


def _of_live(ledger: Ledger, claim: Claim, on: dt.date) -> Iterator[Finding]:
    if is_measured(claim):
        return
    if claim.status in ("measured", "negative"):
        yield _fail(
            claim,
            "not_measured",
            f"called {claim.status}, and known by {_known(claim)}: measure it, or call it derived",
        )
    elif _is_confirmed(ledger, claim):
        return
    elif claim.expires is None:
        yield _fail(
            claim,
            "no_expiry",
            f"known by {_known(claim)}: a claim is measured, or has a date on which it expires",
        )
    elif claim.expires <= on:
        yield _fail(
            claim,
            "expired",
            f"known by {_known(claim)}, expired {claim.expires}: measure it, or supersede it",
        )


def _known(claim: Claim) -> str:
    kind = claim.source.kind
    how = {"consensus": "consensus, which measures nothing", "derived": "derivation"}
    return f"{how.get(kind, kind)} ({claim.source.by})"


def _is_confirmed(ledger: Ledger, claim: Claim) -> bool:
    others = [c for c in ledger.of(claim.key) if c.live and is_measured(c)]
    return any(same_value(claim, other) for other in others)


def _of_fallen(ledger: Ledger, claim: Claim) -> Iterator[Finding]:
    lacking = [
        word
        for word, said in (("falls", claim.falls), ("survives", claim.survives))
        if not any(text.strip() for text in said)
    ]
    if lacking:
        yield _fail(
            claim,
            "half_superseded",
            f"superseded, and does not say what {' and what '.join(lacking)}: a bare correction "
            "casts doubt over all that it does not name",
        )
    if claim.superseded_by and not _has_end(ledger, claim.superseded_by):
        yield _fail(
            claim,
            "successor_missing",
            f"superseded by {claim.superseded_by}, of which nothing stands in the ledger",
        )


def _has_end(ledger: Ledger, key: str) -> bool:
    """Whether following the successors ends at a claim that stands, or at one withdrawn."""
    seen: set[str] = set()
    todo = [key]
    while todo:
        key = todo.pop()
        claims = [] if key in seen else ledger.of(key)
        seen.add(key)
        if any(claim.live or not claim.superseded_by for claim in claims):
            return True
        todo += [claim.superseded_by for claim in claims]
    return False


def _of_artefact(claim: Claim, digest: Callable[[str], str | None]) -> Iterator[Finding]:
    source = claim.source
    if not claim.live or not (source.file or source.sha256):
        return
    if not source.file or not source.sha256:
        what = "digest" if source.file else "file"
        text = f"its source artefact has no {what}: a change of it would not be seen"
        yield _fail(claim, "artefact_unbound", text)
        return
    found = digest(source.file)
    if found is None:
        text = "its source artefact cannot be read: what it says now is not known"
        yield _unknown(claim, "artefact_unread", text, source.file)
    elif found != source.sha256:
        text = f"its source artefact changed since {claim.date}: read it again, or supersede this"
        yield _fail(claim, "artefact_changed", text, source.file)


def _of_described(claim: Claim, digest: Callable[[str], str | None]) -> Iterator[Finding]:
    if not claim.live or claim.described is None:
        return
    file, sha256 = claim.described
    found = digest(file)
    if found is None:
        text = "what it is about cannot be read: whether it is still that is not known"
        yield _unknown(claim, "described_unread", text, file)
    elif found != sha256:
        text = f"what it is about changed since {claim.date}: measure it again, or supersede this"
        yield _fail(claim, "described_changed", text, file)


def _contradiction(live: list[Claim]) -> Iterator[Finding]:
    values = list(_distinct(live))
    if len(values) > 1:
        said = ", ".join(f"{value_of(c)} ({c.status}, {c.date})" for c in values)
        yield _fail(values[0], "contradiction", f"stands with more than one value: {said}")


def _distinct(claims: Iterable[Claim]) -> Iterator[Claim]:
    kept: list[Claim] = []
    for claim in claims:
        if not any(same_value(claim, other) for other in kept):
            kept.append(claim)
            yield claim


def _unknown(claim: Claim, code: str, text: str, where: str) -> Finding:
    return Finding(outcome=Outcome.UNKNOWN, code=code, key=claim.key, text=text, where=where)


def _fail(claim: Claim, code: str, text: str, where: str = "") -> Finding:
    return Finding(outcome=Outcome.FAIL, code=code, key=claim.key, text=text, where=where)
