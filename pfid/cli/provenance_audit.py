"""``pfid provenance audit RUN``: which configured values were seen to take effect."""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import click

from pfid.bootstrap.manifest_drift import drifted
from pfid.bootstrap.manifest_lookup import load
from pfid.cli.output import Cell, Exit, emit_json, note, table
from pfid.cli.provenance_text import drift_json, shown, tell_drift, tell_incomplete
from pfid.policy.provenance_audit import AuditRow, Standing, audit
from pfid.wire.provenance import absent_keys

STYLES: Final = {
    Standing.PAIRED: "green",
    Standing.CONTRADICTED: "bold red",
    Standing.INTENT_ONLY: "yellow",
    Standing.SELF_OBSERVED: "yellow",
    Standing.DECISION: "",
}


@click.command()
@click.argument("run")
@click.option("--inputs", is_flag=True, help="Read declared inputs again as well.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(ctx: click.Context, run: str, inputs: bool, as_json: bool) -> None:
    """List each configured field of RUN with its observed pair, or "intent only".

    Exit codes: 0 nothing contradicts, 1 a pair contradicts, a key is absent, or what the run wrote
    was changed; 2 no such run; 3 there is no manifest, or it is incomplete.
    """
    read = load(run, os.environ)
    manifest = read.manifest
    rows = audit(manifest)
    drifts = drifted(read, note, inputs=inputs)
    absent = absent_keys(read.body, manifest)
    if as_json:
        emit_json(
            {
                "run_id": manifest.run_id,
                "file": str(read.file),
                "complete": manifest.complete,
                "rows": [_row_json(row) for row in rows],
                "summary": _summary(rows),
                "absent": list(absent),
                "drift": drift_json(drifts),
            }
        )
    else:
        _print(rows)
    tell_drift(drifts)
    for key in absent:
        note(f"the manifest lacks {key}: absent is an accident, null would be a statement")
    tell_incomplete(manifest)
    failed = any(row.standing is Standing.CONTRADICTED for row in rows)
    if failed or absent or any(drift.takes_away for drift in drifts):
        ctx.exit(Exit.FAILED)
    ctx.exit(Exit.OK if manifest.complete else Exit.UNKNOWN)


def _summary(rows: Sequence[AuditRow]) -> dict[str, int]:
    counted = Counter(row.standing for row in rows)
    return {standing.value: counted[standing] for standing in Standing}


def _row_json(row: AuditRow) -> dict[str, Any]:
    return {
        "field": row.field,
        "requested": row.requested,
        "resolved": row.resolved,
        "pair": row.pair or None,
        "observed": row.observed,
        "standing": row.standing.value,
        "why": row.why or None,
    }


def _print(rows: Sequence[AuditRow]) -> None:
    if not rows:
        note("nothing is configured as far as the manifest says: there is nothing to pair")
        return
    table(
        ("FIELD", "CONFIGURED", "PAIR", "OBSERVED", "STANDING", "WHY"),
        [
            (
                row.field,
                shown(row.requested if row.requested is not None else row.resolved),
                row.pair or "-",
                shown(row.observed),
                Cell(row.standing.value.replace("_", " "), STYLES[row.standing]),
                row.why,
            )
            for row in rows
        ],
    )
