"""Opening the state file: another owner, a full disk and a corrupt file are three answers."""

import contextlib
import os
import sqlite3
import time
from pathlib import Path
from typing import Final

from pfid.adapters.store_schema import TABLES, VERSION
from pfid.domain.errors import StateError

CHECKED_WHOLE_BYTES: Final = 32 * 1024 * 1024
"""Larger files are not checked page by page at start; damage shows when it is read."""


def open_state(path: Path) -> tuple[sqlite3.Connection, str]:
    """Open or make the state file; a corrupt one is moved aside and a new one made.

    Returns:
        The connection, held exclusively, and what was wrong ("" for nothing).

    Raises:
        StateError: if another process holds the file, or the place cannot be written.
    """
    try:
        return _open(path), ""
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise StateError(_cannot_open(path, error)) from error
        aside = move_aside(path)
        said = f"{path} is corrupt ({error}); moved to {aside.name}, started afresh"
    try:
        return _open(path), said
    except sqlite3.Error as error:
        raise StateError(_cannot_open(path, error)) from error


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file itself is at fault, not its disk or another owner."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    return primary in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}


def move_aside(path: Path) -> Path:
    """Rename a corrupt file and what belongs to it; nothing is deleted."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside = path.with_name(f"{path.name}.corrupt-{stamp}-{os.getpid()}")
    for suffix in ("", "-wal", "-shm", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(aside.with_name(aside.name + suffix))
    return aside


def _cannot_open(path: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return f"{path} is held by another pfid; stop it, or give this one another state directory"
    return f"{path} cannot be opened: {error}; check that its folder exists and is writable"


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=1.0)
    try:
        _prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    run = connection.execute
    # One owner for the whole life: no shared-memory file, and a second daemon is refused.
    run("PRAGMA locking_mode=EXCLUSIVE")
    run("PRAGMA journal_mode=WAL")
    run("PRAGMA synchronous=NORMAL")
    run("PRAGMA cache_size=-1024")
    run("PRAGMA auto_vacuum=INCREMENTAL")
    (version,) = run("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise StateError(f"{path} was written by a newer pfid (format {version}); upgrade pfid")
    if path.stat().st_size <= CHECKED_WHOLE_BYTES:
        _check(connection)
    run("BEGIN EXCLUSIVE")
    for statement in filter(str.strip, TABLES.split(";")):
        run(statement)
    run(f"PRAGMA user_version={VERSION}")
    run("COMMIT")


def _check(connection: sqlite3.Connection) -> None:
    (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        error = sqlite3.DatabaseError(str(said))
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error
