"""``pfid provenance show RUN``: one manifest."""

import os
from collections.abc import Iterable
from typing import Any, Final

import click

from pfid.adapters.manifest_files import ManifestRead
from pfid.bootstrap.manifest_drift import drifted
from pfid.bootstrap.manifest_lookup import load
from pfid.cli.output import Cell, Exit, emit_json, facts, note, table
from pfid.cli.provenance_text import drift_json, shown, tell_drift, tell_incomplete
from pfid.cli.times import rfc3339
from pfid.domain.provenance import CodeIdentity, Field, InterpreterIdentity, Manifest, Source
from pfid.wire.provenance import absent_keys

NAMED: Final = ("torch", "transformers", "accelerate", "peft", "deepspeed", "lightning", "trl")
"""Distributions that are told singly."""


@click.command()
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def command(ctx: click.Context, run: str, as_json: bool) -> None:
    """Show what RUN was launched with, and what was seen of it.

    Exit codes: 0 fine, 1 the manifest or an artefact is another than the run wrote, 2 no such
    run, 3 there is no manifest, or it is incomplete.
    """
    read = load(run, os.environ)
    drifts = drifted(read, note, inputs=False)
    if as_json:
        emit_json(_json(read) | {"drift": drift_json(drifts)})
    else:
        _print(read.manifest)
    tell_drift(drifts)
    tell_incomplete(read.manifest)
    if any(drift.takes_away for drift in drifts):
        ctx.exit(Exit.FAILED)
    ctx.exit(Exit.OK if read.manifest.complete else Exit.UNKNOWN)


def _json(read: ManifestRead) -> dict[str, Any]:
    return {
        "file": str(read.file),
        "sha256": read.sha256,
        "absent": list(absent_keys(read.body, read.manifest)),
        "manifest": read.manifest,
    }


def _print(manifest: Manifest) -> None:
    facts(_facts(manifest))
    if manifest.files:
        click.echo()
        table(("FILE", "ROLE", "SHA256"), [_file_row(file) for file in manifest.files])
    rows = [_field_row(name, field) for name, field in manifest.fields.items() if _said(field)]
    if rows:
        click.echo()
        table(("FIELD", "REQUESTED", "RESOLVED", "OBSERVED", "SEEN BY"), rows)
    silent = [name for name, field in manifest.fields.items() if not _said(field)]
    if silent:
        click.echo()
        facts((("null", ", ".join(silent)),))


def _facts(manifest: Manifest) -> Iterable[tuple[str, str | Cell]]:
    yield "run", manifest.run_id
    yield "sampled", f"{rfc3339(manifest.sampled_at_s)}, before the run's process existed"
    yield "command", " ".join(manifest.command.argv)
    yield "in", manifest.command.cwd
    yield from _code(manifest.code)
    yield from _interpreter(manifest.interpreter)
    host = manifest.host
    yield "host", f"{host.hostname}, boot {host.boot_id}, kernel {host.kernel}"
    gpus = ", ".join(str(gpu.model) for gpu in host.gpus) or "no GPU"
    yield "gpus", f"{gpus}; driver {host.driver or 'none'}"
    if host.contained or host.container_tag:
        yield "container", host.container_tag or "its image is not known"
    ways = {name: value for name, value in manifest.command.environ.items() if value is not None}
    yield "environment", " ".join(f"{name}={value}" for name, value in ways.items()) or "-"
    if manifest.end is not None:
        how = manifest.end.exit_code if manifest.end.signal is None else None
        said = f"signal {manifest.end.signal}" if how is None else f"exit status {how}"
        yield "ended", f"{rfc3339(manifest.end.at_s)}, {said}"


def _code(code: CodeIdentity) -> Iterable[tuple[str, str]]:
    if code.problem is not None:
        yield "code", f"not known: {code.problem.replace('_', ' ')}"
        return
    dirty = f"; {code.changes_n} files differ, diff {shown(code.diff_sha256)}" if code.dirty else ""
    yield "code", f"{code.commit} ({code.describe}){dirty}"
    if code.untracked_n:
        yield "untracked", f"{code.untracked_n} files beside it"
    for inner in code.submodules:
        state = ", dirty" if inner.dirty else ""
        yield "submodule", f"{inner.path} at {shown(inner.checked_out)}{state}"


def _interpreter(seen: InterpreterIdentity) -> Iterable[tuple[str, str]]:
    if seen.problem is not None:
        yield "interpreter", f"not known: {seen.problem.replace('_', ' ')}"
        return
    yield "interpreter", f"{seen.implementation} {seen.version}, {seen.python}"
    known = seen.distributions or {}
    named = ", ".join(f"{name} {known[name]}" for name in NAMED if name in known)
    yield "installed", f"{len(known)} distributions" + (f": {named}" if named else "")


def _file_row(file: Any) -> tuple[str, str, str]:
    digest = file.sha256 or f"- ({file.problem})"
    return file.path, file.role.value, f"{digest} (kept)" if file.cached else digest


def _said(field: Field) -> bool:
    values = (field.requested, field.resolved, field.observed, field.refused)
    return any(value is not None for value in values)


def _field_row(name: str, field: Field) -> tuple[str, str, str, str, str]:
    return (
        name,
        shown(field.requested),
        shown(field.resolved),
        shown(field.observed),
        _by(field.observed_by),
    )


def _by(source: Source | None) -> str:
    if source is None:
        return "-"
    return f"pid {source.pid}" if source.kind == "process" else source.kind.replace("_", " ")
