"""Joins reconstruction to source trees, the training interpreter and logs."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pfid.adapters.git_repository import GitRepository
from pfid.adapters.python_introspection import PythonIntrospection
from pfid.bootstrap.run_steps import run_steps
from pfid.domain.repository import GitFacts
from pfid.formats.source_settings import (
    SourceError,
    SourceSetting,
    settings_in_config,
    settings_in_python,
)
from pfid.policy.reconstruction import (
    Evidence,
    Place,
    Reconstructed,
    requested,
    resolved,
    survived,
)
from pfid.wire.record import RecordedLog

SETTINGS: Final = ("attn_implementation", "experts_implementation")
PROBE_DEADLINE_S: Final = 180.0
"""Importing torch from a cold network disk takes long."""
FILE_MAX_BYTES: Final = 1 << 20
FILES_MAX: Final = 10_000
_SKIPPED: Final = frozenset(
    {
        *("node_modules", "__pycache__", "site-packages", "venv", "env", "dist", "build", "wandb"),
        *("checkpoints", "outputs", "runs", "data"),
    }
)
_CONFIGS: Final = frozenset({".yaml", ".yml", ".toml", ".json"})


@dataclass(slots=True)
class Reconstruction:
    """What was found, and what could not be looked at."""

    claims: list[Reconstructed] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    code: GitFacts | None = None

    def asked(self) -> dict[str, Any]:
        """What the claims so far request, one value a field."""
        return {
            claim.field: claim.value
            for claim in self.claims
            if claim.claim.value == "requested" and isinstance(claim.value, str)
        }


def from_source(found: Reconstruction, source: Path, environ: Mapping[str, str]) -> None:
    """Add what a source tree, or one file, asks for; as it lies there now."""
    folder = source if source.is_dir() else source.parent
    found.code = GitRepository(str(folder.absolute()), environ).facts()
    places: dict[str, list[Place]] = {name: [] for name in SETTINGS}
    for file in _files(source, found.problems):
        for setting in _settings(file, found.problems):
            places[setting.name].append(_place(file, setting))
    for name in SETTINGS:
        claim = requested(name, places[name])
        if claim is not None:
            found.claims.append(claim)
        else:
            found.problems.append(f"{source}: nothing there speaks of {name}")


def _files(source: Path, problems: list[str]) -> Iterator[Path]:
    if not source.is_dir():
        yield source
        return
    count = 0
    for place, folders, names in os.walk(source, onerror=lambda e: problems.append(str(e))):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED and not f.startswith("."))
        for name in sorted(names):
            file = Path(place, name)
            if file.suffix == ".py" or file.suffix in _CONFIGS:
                count += 1
                if count > FILES_MAX:
                    problems.append(f"{source}: has over {FILES_MAX} files; name a part of it")
                    return
                yield file


def _settings(file: Path, problems: list[str]) -> list[SourceSetting]:
    try:
        if not file.is_file() or file.stat().st_size > FILE_MAX_BYTES:
            return []
        text = file.read_text(encoding="utf-8", errors="replace")
        if not any(name in text.lower() for name in SETTINGS):
            return []
        if file.suffix in _CONFIGS:
            return settings_in_config(text, SETTINGS)
        return settings_in_python(text, SETTINGS)
    except (OSError, SourceError) as error:
        problems.append(f"{file}: cannot be read: {error}")
        return []


def _place(file: Path, setting: SourceSetting) -> Place:
    evidence = Evidence.CONFIG_FILE if file.suffix in _CONFIGS else Evidence.SOURCE
    return Place(
        where=f"{file}:{setting.line}: {setting.expression}",
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
