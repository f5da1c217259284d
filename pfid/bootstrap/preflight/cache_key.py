"""The project's own cache key, driven with scratch copies of its auxiliary files."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pfid.bootstrap.preflight.project import Project
from pfid.config.preflight.asked import CacheKey
from pfid.spec.ports.preflight import CacheKeyFacts
from pfid.spec.ports.python import PythonAnswer

FOLDER_MAX_BYTES: Final = 1 << 30
"""Weights are no auxiliary file: a folder of them is known by its revision."""
_ONE_SEED: Final = {"PYTHONHASHSEED": "1"}
_OTHER_SEED: Final = {"PYTHONHASHSEED": "2"}


def cache_key_facts(project: Project) -> CacheKeyFacts | None:
    """Drive the key function; None where the spec names none."""
    key = project.spec.cache_key
    if key is None:
        return None
    with tempfile.TemporaryDirectory(prefix="pfid-cache-key-") as scratch:
        files, unreadable = _copies(project, key, Path(scratch) / "here")
        if unreadable:
            return CacheKeyFacts(unreadable=unreadable)
        elsewhere, _ = _copies(project, key, Path(scratch) / "elsewhere")
        return _driven(project, key, (files, elsewhere))


def _copies(
    project: Project, key: CacheKey, scratch: Path
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Copies under the files' own names: a key may look at them."""
    files, unreadable = {}, []
    for at, (argument, name) in enumerate(key.files.items()):
        source = project.path(name)
        copy = scratch / str(at) / source.name
        try:
            copy.parent.mkdir(parents=True)
            _copy(source, copy)
        except OSError as error:  # of a folder's files, shutil tells many at once
            unreadable.append(f"{argument}: {name}: {error.strerror or str(error)[:200]}")
        else:
            files[argument] = str(copy)
    return files, tuple(unreadable)


def _copy(source: Path, copy: Path) -> None:
    """Copy a file or a folder so that it can be changed.

    Raises:
        OSError: if it cannot be read, or is too large.
    """
    if not source.is_dir():
        shutil.copy2(source, copy)
        copy.chmod(0o600)
        return
    if sum(p.stat().st_size for p in source.rglob("*") if p.is_file()) > FOLDER_MAX_BYTES:
        raise OSError(0, "a folder of more than 1 GiB")
    shutil.copytree(source, copy)
    for place, _, names in os.walk(copy):
        Path(place).chmod(0o700)
        for name in names:
            (Path(place) / name).chmod(0o600)


def _driven(
    project: Project,
    key: CacheKey,
    copies: tuple[Mapping[str, str], Mapping[str, str]],
) -> CacheKeyFacts:
    first = _ask(project, key, copies, _ONE_SEED, base_only=False)
    if first.said is None:
        return CacheKeyFacts(problem=first.problem.value, detail=_last_line(first.detail))
    second = _ask(project, key, copies, _OTHER_SEED, base_only=True)
    if second.said is None:
        return CacheKeyFacts(problem=second.problem.value, detail=_last_line(second.detail))
    unstable = [
        *(["again in the same process"] if first.said["base"] != first.said["again"] else []),
        *(["in another process"] if first.said["base"] != second.said["base"] else []),
    ]
    return CacheKeyFacts(
        unstable=tuple(unstable),
        unmoved=tuple(first.said["stayed"]),
        # A key that differs each time follows nothing in particular.
        followed=() if unstable else tuple(first.said["followed"]),
        tried=int(first.said["tried"]),
    )


def _ask(
    project: Project,
    key: CacheKey,
    copies: tuple[Mapping[str, str], Mapping[str, str]],
    more: Mapping[str, str],
    *,
    base_only: bool,
) -> PythonAnswer:
    files, elsewhere = copies
    asked: dict[str, Any] = {
        "function": key.function,
        "kwargs": key.kwargs,
        "files": dict(files),
        "elsewhere": dict(elsewhere),
        "given_as": key.given_as,
        "must_change": key.must_change,
        "may_stay": key.may_stay,
        "base_only": base_only,
    }
    return project.ask("drive_cache_key", asked, deadline_s=key.deadline_s, more=more)


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""
