"""Joins reconstruction to source trees, the training interpreter and logs."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pfid.adapters.committed_files import CommittedFiles, CommitUnreadableError
from pfid.adapters.git_repository import GitRepository
from pfid.adapters.later_commit import commit_with_changes
from pfid.adapters.python_introspection import PythonIntrospection
from pfid.bootstrap.run_steps import run_steps
from pfid.bootstrap.source_texts import (
    CONFIGS,
    SourceText,
    is_source,
    texts_committed,
    texts_lying,
)
from pfid.domain.provenance import CodeIdentity
from pfid.domain.repository import GitFacts
from pfid.formats.source_settings import (
    SourceError,
    SourceSetting,
    settings_in_config,
    settings_in_python,
)
from pfid.policy.reconstruction import (
    CHANGES_LOST,
    COMMIT_LOST,
    Evidence,
    Place,
    Reconstructed,
    doubted,
    is_as_launched,
    requested,
    resolved,
    survived,
)
from pfid.wire.record import RecordedLog

SETTINGS: Final = ("attn_implementation", "experts_implementation")
NEVER_TRACKED: Final = "lay there at the launch and no commit holds it; it is not read"
PROBE_DEADLINE_S: Final = 180.0
"""Importing torch from a cold network disk takes long."""


@dataclass(slots=True)
class Reconstruction:
    """What was found, and what could not be looked at."""

    claims: list[Reconstructed] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    code: GitFacts | None = None
    at_commit: bool = False
    """Whether the source was read out of ``code``'s commit, not as it lies there."""
    launched: CodeIdentity | None = None
    """What a manifest says the run was launched from; None where none is known."""

    def asked(self) -> dict[str, Any]:
        """What the claims so far request, one value a field."""
        return {
            claim.field: claim.value
            for claim in self.claims
            if claim.claim.value == "requested" and isinstance(claim.value, str)
        }


def from_source(found: Reconstruction, source: Path, environ: Mapping[str, str]) -> None:
    """Add what a source tree, or one file, asks for; as it lies there now."""
    found.code = _looked_at(source, environ)
    _requests(found, str(source), texts_lying(source, SETTINGS, found.problems))


def from_commit(
    found: Reconstruction, source: Path, environ: Mapping[str, str], revision: str
) -> None:
    """Add what a source tree, or one file, asks for as a commit holds it; the tree is not touched.

    Raises:
        CommitUnreadableError: if there is no such commit.
    """
    committed = CommittedFiles(_folder(source), environ, revision)
    found.code = GitFacts(
        commit=committed.commit.sha, describe=committed.commit.describe, dirty=False
    )
    found.at_commit = True
    name = "" if source.is_dir() else source.name
    texts = texts_committed(committed, name, SETTINGS, found.problems)
    _requests(found, f"{source} at {committed.commit.describe}", texts)


def from_launch(
    found: Reconstruction, source: Path, environ: Mapping[str, str], launched: CodeIdentity
) -> None:
    """Add what the code asks for that a manifest says was launched, wherever the tree is by now.

    A tree that is still as it was launched is read as it lies there; else its commit is. Changes
    that were not committed are known by their digest: where a later commit holds them that one is
    read, else what is read is not certain.
    """
    found.launched = launched
    if launched.commit is None:
        from_source(found, source, environ)
        return
    if launched.dirty and is_as_launched(_looked_at(source, environ), launched):
        from_source(found, source, environ)
        return
    changed = launched.dirty is not False
    later = _committed_later(source, environ, launched) if changed else None
    doubt = CHANGES_LOST if changed and later is None else ""
    try:
        from_commit(found, source, environ, later or launched.commit)
        lost = (name for name in launched.untracked if is_source(name))
        found.problems += [f"{name}: {NEVER_TRACKED}" for name in lost]
    except CommitUnreadableError as error:
        found.problems.append(f"{error}; the source is read as it lies there")
        from_source(found, source, environ)
        doubt = COMMIT_LOST
    if doubt:
        found.problems.append(doubt)
        found.claims[:] = [doubted(claim, doubt) for claim in found.claims]


def _committed_later(
    source: Path, environ: Mapping[str, str], launched: CodeIdentity
) -> str | None:
    if launched.commit is None or launched.diff_sha256 is None:
        return None
    return commit_with_changes(_folder(source), environ, launched.commit, launched.diff_sha256)


def _looked_at(source: Path, environ: Mapping[str, str]) -> GitFacts:
    return GitRepository(_folder(source), environ).facts()


def _folder(source: Path) -> str:
    return str((source if source.is_dir() else source.parent).absolute())


def _requests(found: Reconstruction, source: str, texts: Iterable[SourceText]) -> None:
    places: dict[str, list[Place]] = {name: [] for name in SETTINGS}
    for text in texts:
        for setting in _settings(text, found.problems):
            places[setting.name].append(_place(text, setting))
    for name in SETTINGS:
        claim = requested(name, places[name])
        if claim is not None:
            found.claims.append(claim)
        else:
            found.problems.append(f"{source}: nothing there speaks of {name}")


def _settings(text: SourceText, problems: list[str]) -> list[SourceSetting]:
    try:
        if text.suffix in CONFIGS:
            return settings_in_config(text.text, SETTINGS)
        return settings_in_python(text.text, SETTINGS)
    except SourceError as error:
        problems.append(f"{text.where}: cannot be read: {error}")
        return []


def _place(text: SourceText, setting: SourceSetting) -> Place:
    evidence = Evidence.CONFIG_FILE if text.suffix in CONFIGS else Evidence.SOURCE
    return Place(
        where=f"{text.where}:{setting.line}: {setting.expression}",
        value=setting.value,
        certain=setting.certain,
        why=setting.why,
        evidence=evidence,
    )


def from_config(found: Reconstruction, model: str, python: str, environ: Mapping[str, str]) -> None:
    """Add what the installed library makes of the request, without weights or a GPU."""
    asked = found.asked()
    interpreter = PythonIntrospection(python, environ, os.getcwd())  # noqa: PTH109
    answer = interpreter.ask(
        "resolved_config", {"model": model, "requested": asked}, deadline_s=PROBE_DEADLINE_S
    )
    if answer.said is None:
        reason = answer.problem.value.replace("_", " ")
        last = answer.detail.splitlines()[-1:] or [""]
        found.problems.append(f"{model}: not resolved, {reason}: {last[0]}")
        return
    said = answer.said
    found.claims += resolved(
        asked,
        said.get("config") or {},
        said.get("model"),
        f"transformers {said.get('transformers')} of {answer.python}",
        str(said.get("model_problem")),
    )


def from_logs(found: Reconstruction, logs: Sequence[Path], expected_s: float | None) -> None:
    """Add whether the step times are those of a compiled run."""
    recorded = [RecordedLog(path=str(log.absolute())) for log in logs]
    for_all = ", ".join(str(log) for log in logs)
    told = run_steps(Path("/nonexistent"), recorded)
    if told.seconds is None:
        found.problems.append(f"{for_all}: no step times: {(told.problem or '').replace('_', ' ')}")
        return
    steps = told.seconds.value
    figures = " ".join(
        f"{name}={steps[name]:.4g}"
        for name in ("n", "first", "min", "p50", "p99", "max")
        if steps[name] is not None
    )
    for name in found.asked() or {SETTINGS[0]: None}:
        found.claims.append(survived(name, steps, (f"{for_all}: {figures}",), expected_s))
