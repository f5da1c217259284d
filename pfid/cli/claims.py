"""``pfid claims``: the ledger of what is said with a figure, and by what it is known."""

import os
from collections import Counter
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, get_args

import click
from msgspec.structs import replace

from pfid.adapters.ledger_file import rewrite
from pfid.bootstrap.claims.checking import Checked, check_ledger, search_around
from pfid.bootstrap.claims.claim_text import with_claim, with_superseded
from pfid.bootstrap.claims.findings import same_value, value_of
from pfid.bootstrap.claims.starter import starter_text
from pfid.cli.claims_options import (
    FIELDS,
    JSON,
    LEDGER,
    claim_of,
    day,
    figure,
    of_a_claim,
    today,
    words,
)
from pfid.cli.claims_output import claim_json, finding_json, place_json, print_claim, print_findings
from pfid.cli.output import Exit, emit_json, note
from pfid.cli.patience import Patience
from pfid.config.claims import Claim, Figure, Ledger, Status, load_claims, loads_claims
from pfid.domain.outcome import Outcome

KEY: Final = click.argument("key", callback=words)


@click.group()
def command() -> None:
    """Keep a ledger of claims: judge it, add to it, supersede, explain."""


@command.command()
@LEDGER
@JSON
def init(path: Path, as_json: bool) -> None:
    """Write a ledger to begin with: what others believed, and measured to be otherwise.

    Exit codes: 0 written, 2 it is there already, or cannot be written.
    """
    text = starter_text(today())
    rewrite(path, lambda _: text, new=True)
    held = len(loads_claims(text).claims)
    if as_json:
        emit_json({"file": str(path), "claims": held})
    else:
        note(f"{path}: {held} claims; keep what is true of your project")


@command.command()
@LEDGER
@click.option(
    "--vendored",
    multiple=True,
    metavar="PATH",
    help="A folder or pattern of somebody else's text, which is not searched. May be given again.",
)
@click.option("--on", callback=day, metavar="DATE", help="Judge as of this day. [default: today]")
@JSON
@click.pass_context
def check(
    ctx: click.Context, path: Path, vendored: tuple[str, ...], on: Any, as_json: bool
) -> None:
    """Judge every claim, and look for superseded figures in the whole repository.

    FAILs: not measured and expired or without a date, called measured and known by consensus,
    contradicted, a source artefact or what it describes changed, superseded without what falls and
    what survives, a superseded figure that still stands.

    How far it is is said on stderr, after two seconds. What takes time are lines that hold the
    digits of a figure: two gigabytes in which they are many, as code of tensors and tables of small
    numbers are, take a minute of processor time or more, where a range of one-digit ends fell.

    Exit codes: 0 nothing is wrong, 1 something is, 2 the ledger cannot be used, 3 something could
    not be looked at, or there is no claim to judge.
    """
    ledger = load_claims(path)
    checked = check_ledger(path, ledger, on or today(), os.environ, vendored, Patience().told)
    if as_json:
        emit_json(_checked_json(path, ledger, checked))
    else:
        print_findings(path, ledger, checked)
    outcomes = {finding.outcome for finding in checked.findings}
    if Outcome.FAIL in outcomes:
        ctx.exit(Exit.FAILED)
    ctx.exit(Exit.UNKNOWN if outcomes else Exit.OK)


@command.command()
@KEY
@of_a_claim
@LEDGER
@JSON
def add(key: str, path: Path, as_json: bool, **given: Any) -> None:
    """Add a claim about KEY, at the end of the ledger.

    Exit codes: 0 added, 2 it is no claim or KEY stands with another value, 3 an artefact cannot be
    read or the ledger cannot be written.
    """
    claim = claim_of(key, given, path)

    def change(text: str) -> str:
        _refuse_contradiction(loads_claims(text), claim)
        return with_claim(text, claim)

    rewrite(path, change)
    if as_json:
        emit_json({"file": str(path), "claim": claim_json(claim)})
    else:
        note(f"{path}: {key} is {value_of(claim)}")


@command.command()
@KEY
@click.option(
    "--falls",
    multiple=True,
    required=True,
    callback=words,
    metavar="TEXT",
    help="What falls with it. May be given again.",
)
@click.option(
    "--survives",
    multiple=True,
    required=True,
    callback=words,
    metavar="TEXT",
    help="What does not: a bare correction casts doubt over all that it does not name. "
    "May be given again.",
)
@click.option("--by", callback=words, metavar="KEY", help="A claim that took its place.")
@click.option("--withdrawn", is_flag=True, help="Nothing took its place.")
@click.option(
    "--was",
    callback=figure,
    metavar="N|LOW..HIGH",
    help="Which, where KEY stands with more than one value.",
)
@of_a_claim
@LEDGER
@JSON
def supersede(
    *,
    key: str,
    falls: tuple[str, ...],
    survives: tuple[str, ...],
    by: str | None,
    withdrawn: bool,
    was: Figure | None,
    path: Path,
    as_json: bool,
    **given: Any,
) -> None:
    """Supersede the claim about KEY: by a new one (--text ...), one that is there, or by nothing.

    Then it names the places where the figure still stands: mend those before the one in front of
    you. Exit codes: 0 done, 2 it cannot be, 3 an artefact cannot be read or the ledger not written.
    """
    new = _successor(key, path, given, by=by, withdrawn=withdrawn)
    made: list[Claim] = []

    def change(text: str) -> str:
        ledger = loads_claims(text)
        at = _standing(ledger, key, was)
        successor = key if new is not None else by or ""
        if by is not None and not _others(ledger, at, by):
            raise click.UsageError(f"--by {by}: no such claim stands in the ledger")
        fallen = replace(
            ledger.claims[at],
            status="superseded",
            superseded_by=successor,
            falls=[*ledger.claims[at].falls, *falls],
            survives=[*ledger.claims[at].survives, *survives],
        )
        made[:] = [fallen]
        text = with_superseded(text, at, fallen)
        if new is None:
            return text
        _refuse_contradiction(loads_claims(text), new)
        return with_claim(text, new)

    rewrite(path, change)
    _tell_superseded(path, made[0], new, as_json=as_json)


@command.command()
@KEY
@LEDGER
@JSON
def why(key: str, path: Path, as_json: bool) -> None:
    """Explain KEY: what stands, by what it is known, and what it superseded.

    Exit codes: 0 there is such a claim, 2 there is none.
    """
    ledger = load_claims(path)
    claims = ledger.of(key)
    if not claims:
        near = get_close_matches(key, {claim.key for claim in ledger.claims}, 3)
        hint = f"; near it: {', '.join(near)}" if near else ""
        raise click.UsageError(f"the ledger has no claim {key!r}{hint}")
    live = [claim for claim in claims if claim.live]
    fell = [claim for claim in claims if not claim.live]
    fell += [c for c in ledger.claims if c.superseded_by == key and c.key != key]
    if as_json:
        shown = {"live": list(map(claim_json, live)), "superseded": list(map(claim_json, fell))}
        emit_json({"file": str(path), "key": key, **shown})
        return
    for claim in (*live, *fell):
        print_claim(claim)
    if not live:
        note(f"nothing stands about {key}")


def _refuse_contradiction(ledger: Ledger, claim: Claim) -> None:
    for other in ledger.of(claim.key):
        if other.live and not same_value(other, claim):
            raise click.UsageError(
                f"{claim.key} stands as {value_of(other)}: pfid claims supersede {claim.key}"
            )


def _successor(
    key: str, path: Path, given: dict[str, Any], *, by: str | None, withdrawn: bool
) -> Claim | None:
    told = any(given[name] not in (None, False) for name in FIELDS)
    if (told, by is not None, withdrawn).count(True) != 1:
        raise click.UsageError(
            "say what took its place, one of: a new claim (--text ...), --by KEY, --withdrawn"
        )
    return claim_of(key, given, path) if told else None


def _standing(ledger: Ledger, key: str, was: Figure | None) -> int:
    """Place of the claim that is to fall."""
    live = [at for at, claim in enumerate(ledger.claims) if claim.key == key and claim.live]
    if was is not None:
        ends = tuple(was) if isinstance(was, list) else (was,)
        live = [at for at in live if ledger.claims[at].ends == ends]
    if not live:
        raise click.UsageError(f"no claim {key!r} of that value stands in the ledger")
    if len(live) > 1:
        raise click.UsageError(f"{key!r} stands {len(live)} times: say which with --was")
    return live[0]


def _others(ledger: Ledger, at: int, key: str) -> list[Claim]:
    return [c for place, c in enumerate(ledger.claims) if place != at and c.key == key and c.live]


def _tell_superseded(path: Path, fallen: Claim, new: Claim | None, *, as_json: bool) -> None:
    standing = search_around(path, load_claims(path), os.environ, told=Patience().told)
    places = [place for place in standing.places if place.key == fallen.key]
    if as_json:
        emit_json(
            {
                "file": str(path),
                "superseded": claim_json(fallen),
                "claim": None if new is None else claim_json(new),
                "standing": [place_json(place) for place in places],
            }
        )
        return
    note(f"{path}: {fallen.key}: {value_of(fallen)} is superseded")
    for place in places:
        note(f"still stands: {place.path}:{place.line}: {place.text}")


def _checked_json(path: Path, ledger: Ledger, checked: Checked) -> dict[str, Any]:
    standing = checked.standing
    counted = Counter(claim.status for claim in ledger.claims)
    searched = standing and {
        "read": standing.read,
        "left_out": standing.left_out,
        "allowed": standing.allowed,
        "by": standing.by,
    }
    return {
        "file": str(path),
        "ok": not checked.findings,
        "findings": [finding_json(finding) for finding in checked.findings],
        "claims": {status: counted[status] for status in get_args(Status)},
        "searched": searched,
    }
