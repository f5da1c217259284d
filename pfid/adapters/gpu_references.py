"""A user's own references (dense GEMM of each card) in one file, for the user's own engines.

The box's daemon keeps its own beside everything else it knows of a card.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from pfid.domain.errors import StateError
from pfid.domain.gpu_reference import GpuReference

FILE: Final = "gpu-references.json"


class _File(msgspec.Struct, frozen=True, kw_only=True):
    references: list[GpuReference]
    format: int = 1


def load_references(folder: Path) -> dict[str, GpuReference]:
    """The references kept below ``folder``, by uuid; none if there is no file, or a broken one.

    A reference that cannot be read is one that was never measured: verdicts say which they lack.
    """
    try:
        found = msgspec.json.decode((folder / FILE).read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError):
        return {}
    return {r.uuid: r for r in found.references}


def keep_references(folder: Path, references: Iterable[GpuReference]) -> Mapping[str, GpuReference]:
    """Add references to those kept, newer ones in the place of older ones of the same card.

    Raises:
        StateError: if they cannot be written.
    """
    kept = {**load_references(folder), **{r.uuid: r for r in references}}
    body = msgspec.json.encode(_File(references=list(kept.values())))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(folder / FILE, body)
    except OSError as error:
        raise StateError(f"{folder / FILE}: cannot be written: {error.strerror}") from error
    return kept


def _replace(path: Path, body: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(body)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
