"""The manifest of a one-step smoke run: what it says, and what it ought to."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Any

import msgspec

from pfid.adapters.manifest_files import MANIFEST, ManifestRead, read_manifest
from pfid.bootstrap.launch import user_records
from pfid.bootstrap.preflight.project import Project
from pfid.config.preflight.launched import Smoke
from pfid.config.preflight.spec import Spec
from pfid.domain.errors import PfidError
from pfid.domain.provenance import CommandIdentity, Field, InterpreterIdentity, Manifest
from pfid.policy.asked import asked_of, is_implementation
from pfid.policy.launch_identity import interpreter_identity
from pfid.policy.provenance_audit import AuditRow, Standing, audit
from pfid.policy.timed_steps import timed_steps
from pfid.spec.ports.preflight import ManifestFacts
from pfid.wire.provenance import absent_keys

STEPS = "step_seconds"
_NAMED_MAX = 4


def manifest_facts(project: Project) -> ManifestFacts | None:
    """Read it; None where the spec names no smoke run."""
    smoke = project.spec.smoke
    if smoke is None:
        return None
    try:
        place = _place(project, smoke)
        if place is None or not place.exists():
            return ManifestFacts(problem="no_manifest", detail=smoke.run or smoke.manifest)
        read = read_manifest(place)
    except (PfidError, OSError) as error:
        return ManifestFacts(problem="manifest_unreadable", detail=str(error))
    return _facts(project, smoke, read)


def last_launched(project: Project) -> CommandIdentity | None:
    """What the smoke run started; None where there was none, or nobody can tell."""
    smoke = project.spec.smoke
    if smoke is None or not smoke.run:
        return None
    with suppress(PfidError, OSError):
        place = _place(project, smoke)
        if place is not None and place.exists():
            return read_manifest(place).manifest.command
    return None


def _place(project: Project, smoke: Smoke) -> Path | None:
    """Of the newest run of the name, or where the spec says."""
    if smoke.manifest:
        return project.path(smoke.manifest)
    records = user_records(project.environ)
    found, _ = records.latest(smoke.run)
    newest = max(found, key=lambda r: r.started_at_s, default=None)
    return None if newest is None else records.run_dir(newest.run_id) / MANIFEST


def _facts(project: Project, smoke: Smoke, read: ManifestRead) -> ManifestFacts:
    manifest, commit = read.manifest, project.clean_commit
    unanswered, otherwise = _other_environment(project, manifest.interpreter)
    if unanswered:
        return ManifestFacts(problem="python_unanswered", detail=unanswered)
    rows = [_one_step_is_enough(row) for row in audit(manifest)]
    code, end = manifest.code, manifest.end
    return ManifestFacts(
        same_commit=commit is not None and code.commit == commit and code.dirty is False,
        same_environment=not otherwise,
        detail=otherwise,
        ended_well=manifest.complete and end is not None and end.exit_code == 0,
        edited=read.changed,
        absent=(*absent_keys(read.body, manifest), *_own_absent(read.body, smoke.keys)),
        unsampled=(*_unsampled(manifest), *_unrecorded(project, manifest)),
        unresolved=tuple(_unresolved(manifest, smoke.resolves)),
        resolved=sum(field.resolved is not None for field in manifest.fields.values()),
        otherwise=tuple(_otherwise(manifest)),
        contradicted=tuple(_words(rows, Standing.CONTRADICTED)),
        unobserved=tuple(_words(rows, Standing.INTENT_ONLY)),
        own=tuple(_words(rows, Standing.SELF_OBSERVED)),
        paired=sum(row.standing is Standing.PAIRED for row in rows),
        steps=_steps(manifest),
    )


def _other_environment(project: Project, ran: InterpreterIdentity) -> tuple[str, str]:
    """Why it cannot be told, and how the smoke run's interpreter differs from the spec's."""
    if not project.spec.python or not ran.distributions:
        return "", ""  # what was not sampled is told as such
    answer = project.ask("distributions", {})
    now = interpreter_identity(answer)
    if now.distributions is None:
        return f"{project.spec.python}: {now.problem or 'no answer'} {now.detail or ''}".strip(), ""
    pairs = {
        name: (ran.distributions.get(name), now.distributions.get(name))
        for name in sorted({*ran.distributions, *now.distributions})
    }
    words = {"Python": (ran.version, now.version), **pairs}
    differ = [
        f"{name} {was or 'none'}, now {has or 'none'}"
        for name, (was, has) in words.items()
        if was != has
    ]
    more = f" and {len(differ) - _NAMED_MAX} more" if len(differ) > _NAMED_MAX else ""
    return "", "; ".join(differ[:_NAMED_MAX]) + more


def _one_step_is_enough(row: AuditRow) -> AuditRow:
    """That a backend's step times are there is all that a smoke run can show of them."""
    alone = (
        row.standing is Standing.INTENT_ONLY and row.pair == STEPS and timed_steps(row.observed) > 0
    )
    if not alone:
        return row
    return AuditRow(
        field=row.field,
        requested=row.requested,
        resolved=row.resolved,
        pair=row.pair,
        observed=row.observed,
        standing=Standing.PAIRED,
    )


def _steps(manifest: Manifest) -> int:
    field = manifest.fields.get(STEPS)
    return 0 if field is None else timed_steps(field.observed)


def _words(rows: list[AuditRow], standing: Standing) -> Iterator[str]:
    for row in rows:
        if row.standing is standing:
            yield f"{row.field}: {row.why}" if row.why else row.field


def _unresolved(manifest: Manifest, wanted: list[str]) -> Iterator[str]:
    """Backends that were asked for, and those that the spec names, asked for or not."""
    asked = (
        n for n, f in manifest.fields.items() if is_implementation(n) and f.requested is not None
    )
    for name in dict.fromkeys((*asked, *wanted)):
        if manifest.fields.get(name, Field()).resolved is None:
            yield name


def _otherwise(manifest: Manifest) -> Iterator[str]:
    requested = {name: field.requested for name, field in manifest.fields.items()}
    for name, field in manifest.fields.items():
        asked, came = asked_of(name, requested), field.resolved
        if asked is not None and came is not None and asked != came:
            yield f"{name}: {str(asked)[:80]} was requested, {str(came)[:80]} it is"


def _unsampled(manifest: Manifest) -> Iterator[str]:
    if manifest.code.commit is None:
        yield f"commit: {manifest.code.problem or 'none'}"
    if not manifest.interpreter.distributions:
        yield f"library versions: {manifest.interpreter.problem or 'none'}"
    for file in manifest.files:
        if file.sha256 is None:
            yield f"{file.role.value} {file.path}: {file.problem or 'no digest'}"


def _unrecorded(project: Project, manifest: Manifest) -> Iterator[str]:
    """Files that the spec speaks of elsewhere, and of whose content the manifest says nothing."""
    recorded = [PurePath(file.path) for file in manifest.files]
    for name in dict.fromkeys(_spoken_of(project.spec)):
        path = PurePath(os.path.normpath(project.path(name)))
        own = PurePath(os.path.normpath(name)).parts  # a manifest may come from another machine
        if not any(path.is_relative_to(one) or one.parts[-len(own) :] == own for one in recorded):
            yield f"{name}: stands in no list of [provenance]"


def _spoken_of(spec: Spec) -> Iterator[str]:
    if spec.cache_key is not None:
        yield from spec.cache_key.files.values()
    yield from (one.file for one in spec.kwargs if one.file)
    if spec.config is not None:
        yield from (one.file for one in spec.config.ranges)
        yield from (one.file for one in spec.config.choices)


def _own_absent(body: bytes, keys: list[str]) -> Iterator[str]:
    """Keys of the project's own, which pfid's schema does not know."""
    data = msgspec.json.decode(body)
    for key in keys:
        if not _holds(data, key):
            yield key


def _holds(data: Any, key: str) -> bool:
    """Whether a dotted key is there; fields have dots in their own names."""
    if not isinstance(data, dict):
        return False
    if key in data or key in data.get("fields", {}):
        return True
    head, _, rest = key.partition(".")
    return bool(rest) and head in data and _holds(data[head], rest)
