"""Claims and findings as tables and as JSON."""

from pathlib import Path
from typing import Any

import click
import msgspec

from pfid.adapters.figure_places import Place
from pfid.bootstrap.claims.checking import Checked
from pfid.bootstrap.claims.findings import Finding, value_of
from pfid.cli.output import Cell, facts, note, say, table
from pfid.config.claims import Claim, Ledger
from pfid.domain.outcome import Outcome


def claim_json(claim: Claim) -> dict[str, Any]:
    """Every key of a claim; what it does not say is null."""
    said: dict[str, Any] = msgspec.to_builtins(claim)
    source = {name: value or None for name, value in said["source"].items()}
    optional = {name: said[name] or None for name in ("unit", "describes", "superseded_by")}
    return said | optional | {"source": source}


def finding_json(finding: Finding) -> dict[str, Any]:
    """A finding."""
    return {
        "outcome": finding.outcome.value,
        "code": finding.code,
        "key": finding.key or None,
        "text": finding.text,
        "where": finding.where or None,
    }


def place_json(place: Place) -> dict[str, Any]:
    """Where a figure stands."""
    return {"file": place.path, "line": place.line, "text": place.text}


def print_findings(path: Path, ledger: Ledger, checked: Checked) -> None:
    """What is wrong, or that nothing is; then how much was looked at."""
    if checked.findings:
        table(
            ("OUTCOME", "KEY", "WHAT", "WHERE", "WHY"),
            [
                (
                    _outcome(finding.outcome),
                    finding.key or "-",
                    finding.code.replace("_", " "),
                    finding.where or "-",
                    finding.text,
                )
                for finding in checked.findings
            ],
        )
    else:
        looked = checked.standing is not None and checked.standing.claims > 0
        figures = (
            "no superseded figure does" if looked else "there was no superseded figure to find"
        )
        say(f"good: every claim stands, and {figures}")
    note(f"{path}: {_several(len(ledger.claims), 'claim')}")
    if checked.standing is not None and checked.standing.claims:
        found = checked.standing
        looked_for = _several(found.claims, "superseded figure")
        left_out = _several(found.left_out, "file")
        note(
            f"{looked_for} looked for in {_several(found.read, 'file')} by {found.by}; "
            f"{left_out} left out, {_several(found.allowed, 'place')} allowed"
        )


def _several(count: int, of: str) -> str:
    return f"{count} {of}" if count == 1 else f"{count} {of}s"


def print_claim(claim: Claim) -> None:
    """One claim with what it rests on."""
    source = claim.source
    rows = [
        ("claim", f"{claim.key}: {claim.text}"),
        ("figure", value_of(claim) if claim.ends else ""),
        ("status", claim.status),
        ("date", claim.date.isoformat()),
        ("known by", f"{source.kind}: {source.by}"),
        ("artefact", source.file),
        ("describes", claim.describes),
        ("expires", claim.expires.isoformat() if claim.expires else ""),
        ("superseded by", claim.superseded_by),
        *(("falls", text) for text in claim.falls),
        *(("survives", text) for text in claim.survives),
        *(("allowed", f"{one.path}: {one.reason}") for one in claim.allow),
    ]
    facts([(name, value) for name, value in rows if value])
    click.echo()


def _outcome(outcome: Outcome) -> Cell:
    return Cell(outcome.name, "bold red" if outcome is Outcome.FAIL else "yellow")
