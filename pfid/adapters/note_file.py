"""Adds an entry to a note, whole or not at all; what stands in it stays."""

import os
from pathlib import Path

from pfid.domain.errors import StateError


def add_entry(file: Path, title: str, entry: str) -> None:
    """Append an entry, below the title where the file is new.

    Raises:
        StateError: if it cannot be written; the file is as it was.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(file, flags, 0o644)
    except OSError as error:
        raise StateError(f"cannot write {file}: {error.strerror}") from error
    try:
        size = os.fstat(descriptor).st_size
        head = "" if size else f"{title}\n"
        body = f"{head}\n{entry}\n".encode("utf-8", "backslashreplace")
        try:
            whole = os.write(descriptor, body) == len(body)
        except OSError as error:
            raise StateError(f"cannot write {file}: {error.strerror}") from error
        if not whole:
            os.ftruncate(descriptor, size)
            raise StateError(f"cannot write {file}: there is no room for it")
    finally:
        os.close(descriptor)
