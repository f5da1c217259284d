"""The project's own cache key, driven with scratch copies of its auxiliary files."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from pfid.bootstrap.preflight.project import Project
from pfid.config.preflight.asked import CacheKey
from pfid.spec.ports.preflight import CacheKeyFacts
from pfid.spec.ports.python import PythonAnswer

_ONE_SEED: Final = {"PYTHONHASHSEED": "1"}
_OTHER_SEED: Final = {"PYTHONHASHSEED": "2"}


def cache_key_facts(project: Project) -> CacheKeyFacts | None:
    """Drive the key function; None where the spec names none."""
    key = project.spec.cache_key
    if key is None:
        return None
    with tempfile.TemporaryDirectory(prefix="pfid-cache-key-") as scratch:
        files, unreadable = _copies(project, key, Path(scratch))
        return _driven(project, key, files, unreadable)


def _copies(
    project: Project, key: CacheKey, scratch: Path
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Copies under the files' own names: a key may look at them."""
    files, unreadable = {}, []
    for at, (argument, name) in enumerate(key.files.items()):
        source = project.path(name)
        copy = scratch / str(at) / source.name
        try:
            copy.parent.mkdir()
            shutil.copy2(source, copy)
            copy.chmod(0o600)
        except OSError as error:
            unreadable.append(f"{argument}: {name}: {error.strerror}")
        else:
            files[argument] = str(copy)
    return files, tuple(unreadable)


def _driven(
    project: Project, key: CacheKey, files: Mapping[str, str], unreadable: tuple[str, ...]
) -> CacheKeyFacts:
    if unreadable and not files and not key.must_change:
        return CacheKeyFacts(unreadable=unreadable)
    first = _ask(project, key, files, None, _ONE_SEED)
    if first.said is None:
        return CacheKeyFacts(
            problem=first.problem.value, detail=_last_line(first.detail), unreadable=unreadable
        )
    doubtful = list(first.said["unmoved"])
    second = _ask(project, key, files, [], _OTHER_SEED)
    if second.said is None:
        return CacheKeyFacts(problem=second.problem.value, detail=_last_line(second.detail))
    unmoved = [name for name in doubtful if _is_unmoved(project, key, files, name, first)]
    unstable = [
        *(["again in the same process"] if first.said["base"] != first.said["again"] else []),
        *(["in another process"] if first.said["base"] != second.said["base"] else []),
    ]
    return CacheKeyFacts(
        unreadable=unreadable,
        unstable=tuple(unstable),
        unmoved=tuple(unmoved),
        tried=int(first.said["tried"]),
    )


def _is_unmoved(
    project: Project, key: CacheKey, files: Mapping[str, str], name: str, first: PythonAnswer
) -> bool:
    """Change one thing before a process begins: no memory of an earlier call can hide it."""
    base = (first.said or {}).get("base")
    if name in key.must_change:
        changed = {**key.kwargs, name: key.must_change[name]}
        found = _ask(project, replace(key, kwargs=changed), files, [], _ONE_SEED)
    else:
        flip(Path(files[name]))
        try:
            found = _ask(project, key, files, [], _ONE_SEED)
        finally:
            flip(Path(files[name]))
    return found.said is None or found.said["base"] == base


def flip(path: Path) -> None:
    """Flip one bit of a file, keeping its times; a second time puts it back."""
    before, times = path.read_bytes(), path.stat()
    path.write_bytes(bytes([before[0] ^ 1]) + before[1:] if before else b"\x01")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _ask(
    project: Project,
    key: CacheKey,
    files: Mapping[str, str],
    only: list[str] | None,
    more: Mapping[str, str],
) -> PythonAnswer:
    asked: dict[str, Any] = {
        "function": key.function,
        "kwargs": key.kwargs,
        "files": dict(files),
        "given_as": key.given_as,
        "must_change": key.must_change,
        "only": only,
    }
    return project.ask("drive_cache_key", asked, deadline_s=key.deadline_s, more=more)


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""
