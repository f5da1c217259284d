"""``pfid provenance reconstruct``: what can still be told of a run that recorded nothing."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from pfid.adapters.manifest_files import MANIFEST, read_manifest
from pfid.bootstrap.launch import user_records
from pfid.bootstrap.manifest_lookup import run_id_of
from pfid.bootstrap.reconstruct import (
    Reconstruction,
    from_commit,
    from_config,
    from_launch,
    from_logs,
    from_source,
)
from pfid.cli.finite import FiniteRange
from pfid.cli.output import Cell, Exit, emit_json, note, table
from pfid.cli.provenance_text import shown
from pfid.domain.errors import PfidError
from pfid.domain.provenance import CodeIdentity
from pfid.domain.repository import GitFacts
from pfid.policy.reconstruction import Evidence, Reconstructed, is_as_launched
from pfid.wire.record import RunRecord

EVIDENCE: Final = {
    Evidence.SOURCE: "source text",
    Evidence.CONFIG_FILE: "configuration file",
    Evidence.CONFIG_PROBE: "probe of the configuration",
    Evidence.STEP_TIMES: "step times",
}


@click.command()
@click.argument("run", required=False)
@click.option(
    "--source",
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Source of the training: what it requested. [default: RUN's working directory]",
)
@click.option(
    "--commit",
    "revision",
    metavar="REV",
    help="Read the source as this commit holds it. [default: the commit that RUN's manifest "
    "names, unless --source is given; else the working tree as it lies there]",
)
@click.option(
    "--model",
    metavar="MODEL",
    help="Folder with the model's config.json, or a name in the local cache: what is resolved.",
)
@click.option(
    "--python",
    metavar="PY",
    help="The training interpreter, whose libraries resolve it. [default: python3]",
)
@click.option(
    "--steps",
    "logs",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="LOG",
    help="Log of the run: whether it survived. May be given again. [default: RUN's logs]",
)
@click.option(
    "--expect-step",
    "expected_s",
    type=FiniteRange(0, min_open=True),
    metavar="SECONDS",
    help="How long a step should have taken.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(ctx: click.Context, /, run: str | None, as_json: bool, **given: Any) -> None:
    """Gather what can still be told of a run that recorded nothing, each with its evidence.

    Nothing of it is a record: the source may have changed (unless a commit says what ran), the
    libraries may be others than then.
    Exit codes: 0 fine, 1 a claim contradicts what was requested, 2 nothing to look at, 3 nothing
    could be told.
    """
    record = None if run is None else _record(run)
    found = _gather(record, given)
    if as_json:
        emit_json(_json(found, record))
    else:
        _print(found)
    for problem in found.problems:
        note(problem)
    if any(claim.contradicts for claim in found.claims):
        ctx.exit(Exit.FAILED)
    ctx.exit(Exit.OK if found.claims else Exit.UNKNOWN)


def _record(run: str) -> RunRecord | None:
    records = user_records(os.environ)
    return records.read(run_id_of(run, records))


def _gather(record: RunRecord | None, given: Mapping[str, Any]) -> Reconstruction:
    found = Reconstruction()
    source: Path | None = given["source"]
    launched = None
    logs: tuple[Path, ...] = given["logs"]
    if record is not None:
        logs = logs or tuple(Path(log.path) for log in record.logs if Path(log.path).is_file())
        if source is None and record.cwd:
            source = _still_there(Path(record.cwd), found)
            launched = _launched(record, found)
    if source is None and not logs and given["model"] is None:
        gone = "".join(f"; {problem}" for problem in found.problems)
        raise click.UsageError(
            f"name a RUN, --source, --model or --steps: there is nothing to look at{gone}"
        )
    _read_source(found, source, given["revision"], launched)
    if given["model"] is not None:
        python = given["python"] or shutil.which("python3") or "python3"
        from_config(found, given["model"], python, os.environ)
    if logs:
        expected_s = given["expected_s"] or (record.expect_step_s if record else None)
        from_logs(found, logs, expected_s)
    return found


def _still_there(cwd: Path, found: Reconstruction) -> Path | None:
    if cwd.is_dir():
        return cwd
    found.problems.append(f"{cwd}: RUN's working directory is not there any more (--source)")
    return None


def _launched(record: RunRecord, found: Reconstruction) -> CodeIdentity | None:
    """What RUN's manifest says of its code; None where there is none, as of older runs."""
    file = user_records(os.environ).run_dir(record.run_id) / MANIFEST
    try:
        return read_manifest(file).manifest.code if file.exists() else None
    except PfidError as error:
        found.problems.append(str(error))
        return None


def _read_source(
    found: Reconstruction, source: Path | None, revision: str | None, launched: CodeIdentity | None
) -> None:
    """As the commit that is named holds it, or as it was launched, or as it lies there."""
    if revision is not None and source is None:
        raise click.UsageError("--commit needs a source: name a RUN or --source")
    if source is None:
        return
    if revision is not None:
        from_commit(found, source, os.environ, revision)
    elif launched is not None:
        from_launch(found, source, os.environ, launched)
    else:
        from_source(found, source, os.environ)


def _json(found: Reconstruction, record: RunRecord | None) -> dict[str, Any]:
    code = found.code
    return {
        "run_id": None if record is None else record.run_id,
        "claims": [_claim_json(claim) for claim in found.claims],
        "code": None
        if code is None
        else {
            "read": "commit" if found.at_commit else "working_tree",
            "commit": code.commit,
            "dirty": code.dirty,
            "problem": code.problem.value or None,
            "launched": None if found.launched is None else _launched_json(found.launched),
        },
        "problems": found.problems,
    }


def _launched_json(code: CodeIdentity) -> dict[str, Any]:
    return {"commit": code.commit, "dirty": code.dirty, "diff_sha256": code.diff_sha256}


def _claim_json(claim: Reconstructed) -> dict[str, Any]:
    return {
        "field": claim.field,
        "claim": claim.claim.value,
        "value": claim.value,
        "evidence": claim.evidence.value,
        "certain": claim.certain,
        "contradicts": claim.contradicts,
        "where": list(claim.where),
        "why": claim.why or None,
    }


def _print(found: Reconstruction) -> None:
    code = found.code
    if found.at_commit and code is not None:
        whose = _whose(found.launched, code)
        note(f"the source as commit {code.describe} holds it{whose}; the working tree was not read")
    elif code is not None and found.launched is not None and is_as_launched(code, found.launched):
        note(f"the source as it lies there{_at(code)}: the same changes as at the launch")
    elif code is not None:
        note(
            f"the source as it lies there now{_at(code)}: it may have changed since (--commit REV)"
        )
    if not found.claims:
        return
    table(
        ("FIELD", "CLAIM", "VALUE", "EVIDENCE", "CERTAIN", "WHERE", "WHY"),
        [_row(claim) for claim in found.claims],
    )


def _whose(launched: CodeIdentity | None, code: GitFacts) -> str:
    if launched is None:
        return ""
    if code.commit == launched.commit:
        return ", which the run was launched from"
    return f", {launched.describe or launched.commit} with the changes the run was launched with"


def _at(code: GitFacts) -> str:
    if code.commit is None:
        return ", in no repository that can be read"
    state = "with changes that no commit holds" if code.dirty else "clean"
    return f", at {code.describe}, {state}"


def _row(claim: Reconstructed) -> tuple[str | Cell, ...]:
    value = shown(claim.value)
    if isinstance(claim.value, bool):
        value = "yes" if claim.value else "no"
    more = f" and {len(claim.where) - 1} more places" if len(claim.where) > 1 else ""
    return (
        claim.field,
        claim.claim.value,
        Cell(value, "bold red" if claim.contradicts else ""),
        EVIDENCE[claim.evidence],
        "yes" if claim.certain else "no",
        (claim.where[0] if claim.where else "-") + more,
        claim.why,
    )
