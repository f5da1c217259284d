"""A project's own configuration file, TOML or JSON, read as plain data."""

import json
import tomllib
from pathlib import Path
from typing import Any, Final

from pfid.domain.errors import PfidError

MAX_BYTES: Final = 16 * 1024 * 1024


class UnreadableFileError(PfidError):
    """A file, or a key of it, cannot be read."""


def read_config_file(path: Path) -> Any:
    """Read a file by its suffix; what is not ``.json`` is TOML.

    Raises:
        UnreadableFileError: saying why.
    """
    try:
        with path.open("rb") as file:
            body = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableFileError(f"{path.name}: {error.strerror}") from error
    if len(body) > MAX_BYTES:
        raise UnreadableFileError(f"{path.name}: over {MAX_BYTES} bytes is no configuration")
    try:
        text = body.decode()
        return json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableFileError(f"{path.name}: {error}") from error


def value_at(data: Any, key: str) -> Any:
    """Walk to a dotted key; "" is all of it.

    Raises:
        UnreadableFileError: if it is not there.
    """
    found = data
    for part in key.split(".") if key else ():
        if not isinstance(found, dict) or part not in found:
            raise UnreadableFileError(f"there is no key {key}")
        found = found[part]
    return found
