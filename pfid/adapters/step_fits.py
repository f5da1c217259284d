"""A user's scaling fits by the name of the run they were measured for, one file a name."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from pfid.domain.errors import StateError
from pfid.domain.names import slug
from pfid.domain.step_fit import StepFit

FOLDER: Final = "fits"


class _File(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    fit: StepFit
    format: int = 1


def load_fit(state: Path, name: str) -> StepFit | None:
    """The fit kept for runs of a name; None if there is none, or it cannot be read.

    A fit that cannot be read is one that was never measured: a launch must not fail by it.
    """
    try:
        found = msgspec.json.decode(_path(state, name).read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError, ValueError):
        return None
    return found.fit if found.name == name and found.fit.usable else None


def keep_fit(state: Path, name: str, fit: StepFit) -> Path:
    """Keep a fit in the place of an older one of the same name.

    Raises:
        StateError: if it cannot be written.
    """
    import tempfile

    path = _path(state, name)
    body = msgspec.json.encode(_File(name=name, fit=fit))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, fresh = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(body)
            Path(fresh).replace(path)
        except OSError:
            Path(fresh).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise StateError(f"{path}: cannot be written: {error.strerror}") from error
    return path


def _path(state: Path, name: str) -> Path:
    digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return state / FOLDER / f"{slug(name)}-{digest}.json"
