"""Damage to the state file that no commit meets: looked for, because it would be met at a restart.

Commits go to sqlite's log and touch few pages. Somebody else's bytes in the file, or a disk's rot,
stay unseen behind it, until what was believed to be kept is read and is not there.
"""

import sqlite3
import time
from pathlib import Path
from typing import Final

from pfid.adapters.store_file import StateFile, check_pages

CHECK_S: Final = 600.0
"""Between two looks at a file that nobody seems to have written to."""


class DamageWatch:
    """When to look at a file, and how."""

    def __init__(self, file: StateFile) -> None:
        """Watch a file that was checked when it was opened."""
        self._path = file.path
        self._written = _written(file.path)
        self._due_s = time.monotonic() + CHECK_S

    def due(self) -> bool:
        """Whether the file was written to since the last look, or that is long ago."""
        written, now_s = _written(self._path), time.monotonic()
        if written == self._written and now_s < self._due_s:
            return False
        self._written, self._due_s = written, now_s + CHECK_S
        return True

    def look_beside(self) -> sqlite3.Error | None:
        """Read the whole file through a connection of its own; return what is wrong with it."""
        try:
            beside = sqlite3.connect(
                f"file:{self._path}?mode=ro", uri=True, isolation_level=None, timeout=1.0
            )
        except sqlite3.Error as error:
            return error
        try:
            check_pages(beside)
        except sqlite3.Error as error:
            return error
        finally:
            beside.close()
        return None


def look_through(db: sqlite3.Connection) -> None:
    """Read the whole file through the writer's own connection, and none of it from memory.

    Raises:
        sqlite3.DatabaseError: saying what is wrong with it.
    """
    db.execute("PRAGMA shrink_memory")
    check_pages(db)


def _written(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
