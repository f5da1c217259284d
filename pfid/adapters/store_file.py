"""Opening the state file: another owner, a full disk and a corrupt file are three answers."""

import contextlib
import fcntl
import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.adapters.store_schema import TABLES, VERSION
from pfid.domain.errors import StateError

CHECKED_WHOLE_BYTES: Final = 32 * 1024 * 1024
"""Larger files are not checked page by page at start; damage shows when it is read."""
WRITE_BACK_BYTES: Final = 16 * 1024 * 1024
"""A log of this size is written back into the file."""
FULL_LOG_PAGES: Final = 16_384
"""If it grows to this (64 MiB) all the same, the writer does it itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFile:
    """Where the state lies, and how.

    Attributes:
        path: of the file.
        local: whether it lies on a local disk for certain: then its log is written back to it
            beside the writer's work. On a network file system sqlite needs the file to itself.
    """

    path: Path
    local: bool = True


def take_ownership(path: Path) -> int:
    """Lock the state against a second daemon, for as long as the returned descriptor is open.

    Raises:
        StateError: if another process has it, or the place cannot be written.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateError(
            f"{lock} cannot be made: {error.strerror}; is its folder writable?"
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        raise StateError(
            f"{path} is held by another pfid; stop it, or give this one another state directory"
        ) from error
    return fd


def open_state(file: StateFile) -> tuple[sqlite3.Connection, str]:
    """Open or make the state file; a corrupt one is moved aside and a new one made.

    Returns:
        The connection, and what was wrong ("" for nothing).

    Raises:
        StateError: if the place cannot be written, or a newer pfid wrote the file.
    """
    path = file.path
    try:
        return _open(file), ""
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise StateError(_cannot_open(path, error)) from error
        aside = move_aside(path)
        said = f"{path} is corrupt ({error}); moved to {aside.name}, started afresh"
    try:
        return _open(file), said
    except sqlite3.Error as error:
        raise StateError(_cannot_open(path, error)) from error


def write_back(file: StateFile) -> None:
    """Copy sqlite's log into the file, beside a writer at work; a failure is tried again later."""
    log = file.path.with_name(file.path.name + "-wal")
    with contextlib.suppress(sqlite3.Error, OSError):
        if log.stat().st_size < WRITE_BACK_BYTES:
            return
        beside = sqlite3.connect(file.path, isolation_level=None, timeout=1.0)
        try:
            beside.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        finally:
            beside.close()


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
    return f"{path} cannot be opened: {error}; check that its folder exists and is writable"


def _open(file: StateFile) -> sqlite3.Connection:
    connection = sqlite3.connect(
        file.path, isolation_level=None, check_same_thread=False, timeout=1.0
    )
    try:
        _prepare(connection, file)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, file: StateFile) -> None:
    run = connection.execute
    if not file.local:
        run("PRAGMA locking_mode=EXCLUSIVE")  # needs no memory shared through the file system
    run("PRAGMA journal_mode=WAL")
    run("PRAGMA synchronous=NORMAL")
    run("PRAGMA cache_size=-1024")
    if file.local:
        # Writing back waits for the disk, a commit must not: write_back does it beside.
        run(f"PRAGMA wal_autocheckpoint={FULL_LOG_PAGES}")
    (version,) = run("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise StateError(
            f"{file.path} was written by a newer pfid (format {version}); upgrade pfid"
        )
    if file.path.stat().st_size <= CHECKED_WHOLE_BYTES:
        check_pages(connection)
    run("BEGIN IMMEDIATE")
    for statement in filter(str.strip, TABLES.split(";")):
        run(statement)
    run(f"PRAGMA user_version={VERSION}")
    run("COMMIT")


def check_pages(connection: sqlite3.Connection) -> None:
    """Read every page.

    Raises:
        sqlite3.DatabaseError: saying which is wrong, and how.
    """
    (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        error = sqlite3.DatabaseError(str(said))
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error
