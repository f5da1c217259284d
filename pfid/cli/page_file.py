"""A page written to a file that its owner alone can read."""

import os
from pathlib import Path
from typing import Final

from pfid.cli.output import note
from pfid.domain.errors import ConfigError

OWNERS_ONLY: Final = 0o600


def write_page(path: Path, page: str) -> None:
    """Write it; one that is there is replaced.

    Raises:
        ConfigError: if it cannot be written there.
    """
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNERS_ONLY)
        with open(fd, "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a descriptor
            os.fchmod(fd, OWNERS_ONLY)
            file.write(page)
    except OSError as problem:
        raise ConfigError((f"{path}: cannot be written: {problem.strerror}",)) from problem
    note(f"wrote {path}")
