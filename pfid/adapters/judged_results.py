"""What was judged of evaluations before, by name: one file a judgement, below the user's state."""

import os
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from pfid.domain.errors import StateError, why
from pfid.domain.names import slug
from pfid.spec.ports.results import PreviousResult

FOLDER: Final = "judged"
KEPT: Final = 50
"""Judgements of a name; older ones go."""
MAX_BYTES: Final = 4 * 1024 * 1024


class _File(msgspec.Struct, frozen=True, kw_only=True):
    result: PreviousResult
    format: int = 1


def newest_other(state: Path, name: str, digest: str) -> PreviousResult | None:
    """The newest judgement of a name over other records than these; None if there is none.

    Raises:
        StateError: if there are some and not one can be read: "new" would be a guess.
    """
    unread: list[str] = []
    for path in _files(state, name):
        try:
            found = _read(path)
        except (OSError, ValueError, msgspec.DecodeError) as error:
            unread.append(f"{path}: {why(error)}")
            continue
        if found.name == name and found.digest != digest:
            return found
    if unread:
        raise StateError(f"an earlier record cannot be read: {unread[0]}")
    return None


def keep(state: Path, result: PreviousResult) -> Path:
    """Keep a judgement; one over the same records takes the place of the one before.

    Raises:
        StateError: if it cannot be written.
    """
    folder = _folder(state, result.name)
    stamp = f"{max(result.judged_at_s, 0.0):017.3f}"
    path = folder / f"{stamp}-{sha256(result.digest.encode()).hexdigest()[:12]}.json"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, fresh = tempfile.mkstemp(dir=folder, prefix=".fresh-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(_File(result=result)))
        Path(fresh).replace(path)
        for old in _superseded(folder, path):
            old.unlink(missing_ok=True)
    except OSError as error:
        raise StateError(f"{folder}: cannot be written: {error.strerror}") from error
    return path


def _superseded(folder: Path, kept: Path) -> list[Path]:
    """Older judgements of the same records, and whatever is too many."""
    same = kept.name.rpartition("-")[2]
    older = [p for p in folder.glob("*.json") if p != kept and p.name < kept.name]
    again = [p for p in older if p.name.rpartition("-")[2] == same]
    rest = sorted((p for p in older if p not in again), reverse=True)
    return again + rest[KEPT - 1 :]


def _files(state: Path, name: str) -> list[Path]:
    return sorted(_folder(state, name).glob("*.json"), reverse=True)


def _read(path: Path) -> PreviousResult:
    body = path.read_bytes()
    if len(body) > MAX_BYTES:
        raise ValueError("is too large for a record")
    return msgspec.json.decode(body, type=_File).result


def _folder(state: Path, name: str) -> Path:
    return state / FOLDER / f"{slug(name)}-{sha256(name.encode()).hexdigest()[:12]}"
