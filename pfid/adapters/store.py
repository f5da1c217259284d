"""The state file in a thread of its own: nothing that waits for a disk waits in the loop.

What is handed over together is committed together. While the disk takes nothing the newest state
of everything is kept in memory, the trouble is said, and it is written when the disk takes it
again.
"""

import contextlib
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from pfid.adapters import store_queries
from pfid.adapters.store_check import DamageWatch, look_through
from pfid.adapters.store_file import (
    StateFile,
    is_damage,
    move_aside,
    open_state,
    take_ownership,
    write_back,
)
from pfid.adapters.store_schema import key, statements
from pfid.domain.errors import StateError
from pfid.wire.stored import Change

RETRY_S: Final = 1.0
WRITE_BACK_S: Final = 2.0
ASKED_S: Final = 16.0
"""While nothing is written the file is asked so often whether it still answers."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreEvents:
    """Who is told what; called in the store's thread, so they only hand on.

    Attributes:
        committed: number of the last change set that is on disk.
        trouble: why nothing can be written, "" once it can again.
        reset: the file was found corrupt while running; everything must be written again.
        answers: the file was asked, and it is there still.
    """

    committed: Callable[[int], None]
    trouble: Callable[[str], None]
    reset: Callable[[str], None]
    answers: Callable[[], None] = lambda: None


class Store:
    """One writer thread over one sqlite file."""

    def __init__(self, file: StateFile, events: StoreEvents) -> None:
        """Open the file.

        Raises:
            StateError: if it is another daemon's or cannot be opened; a corrupt one is moved
                aside, see ``problem``.
        """
        self._file = file
        self._path = file.path
        self._events = events
        self._lock_fd = take_ownership(file.path)
        try:
            self._db, self.problem = open_state(file)
        except StateError:
            os.close(self._lock_fd)
            raise
        self._inode = _inode(file.path)
        self._damage = DamageWatch(file)
        self._over = threading.Event()
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._pending: dict[tuple[Any, ...], Change] = {}
        self._submitted = 0
        self._taken = 0
        self._committed = 0
        self._trouble = ""
        self._next_try_s = 0.0
        self._thread = threading.Thread(target=self._work, name="store", daemon=True)

    def restored(self, *, ended_after_s: float, events_max: int) -> store_queries.Restored:
        """Read the state to start from; before ``start``, in the caller's thread."""
        return store_queries.restored(self._db, ended_after_s=ended_after_s, events_max=events_max)

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()
        threading.Thread(target=self._look_after, name="write back", daemon=True).start()

    def _look_after(self) -> None:
        """Beside the writer: write sqlite's log back, and see whether the file is damaged."""
        asked_s = 0.0
        while not self._over.wait(WRITE_BACK_S):
            if (now_s := time.monotonic()) - asked_s >= ASKED_S:
                asked_s = now_s
                self.ask(_version, self._answered)
            if self._file.local:
                write_back(self._file)
            if self._damage.due():
                self._look_for_damage()

    def _answered(self, version: int | None) -> None:
        """The file was read, and the last thing written to it was taken."""
        if version is None or self._pending:  # what waits is tried again, and says how that went
            return
        self._say("")
        self._events.answers()

    def _look_for_damage(self) -> None:
        if not self._file.local:  # the writer has the file to itself
            self.ask(look_through, _nothing)
            return
        error = self._damage.look_beside()
        if error is not None and is_damage(error):
            self.ask(partial(_found, error), _nothing)

    def submit(self, changes: Sequence[Change]) -> int:
        """Hand over changes that belong together; returns their number, reported when on disk."""
        self._submitted += 1
        self._jobs.put((self._submitted, tuple(changes)))
        return self._submitted

    def ask(
        self, query: Callable[[sqlite3.Connection], T], deliver: Callable[[T | None], None]
    ) -> None:
        """Run a query after everything submitted so far; ``deliver`` gets None if it failed."""
        self._jobs.put((query, deliver))

    def close(self, timeout_s: float = 5.0) -> bool:
        """Write what is left and stop; False if the disk did not take it in time."""
        self._over.set()
        self._jobs.put(None)
        if self._thread.ident is not None:
            self._thread.join(timeout_s)
        if self._thread.is_alive():
            return False
        self._db.close()
        os.close(self._lock_fd)
        return not self._pending

    def _work(self) -> None:
        stopping = False
        while not stopping:
            jobs = self._take()
            stopping = None in jobs
            self._collect(jobs)
            self._write(now=stopping)
            for job in jobs:
                if job is not None and callable(job[0]):
                    self._answer(*job)

    def _take(self) -> list[Any]:
        """Wait for work, then take all of it: what came together is committed together."""
        wait_s = max(0.0, self._next_try_s - time.monotonic()) if self._pending else None
        jobs: list[Any] = []
        try:
            jobs.append(self._jobs.get(timeout=wait_s))
            while True:
                jobs.append(self._jobs.get_nowait())
        except queue.Empty:
            return jobs

    def _collect(self, jobs: list[Any]) -> None:
        for job in jobs:
            if job is None or callable(job[0]):
                continue
            self._taken, changes = job
            for change in changes:
                known = key(change)
                self._pending.pop(known, None)  # the last write of a key comes last
                self._pending[known] = change

    def _write(self, *, now: bool) -> None:
        if self._pending and (now or time.monotonic() >= self._next_try_s):
            self._commit()
        if not self._pending and self._committed < self._taken:
            self._committed = self._taken
            self._events.committed(self._taken)

    def _commit(self) -> None:
        away = self._inode is None or _inode(self._path) != self._inode
        if away and not self._begin_anew():
            return
        try:
            self._db.execute("BEGIN")
            for change in self._pending.values():
                for sql, values in statements(change):
                    self._db.execute(sql, values)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            self._failed(error)
        else:
            self._pending.clear()
            self._say("")

    def _failed(self, error: sqlite3.Error) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._db.execute("ROLLBACK")
        self._next_try_s = time.monotonic() + RETRY_S
        if is_damage(error):
            self._start_afresh(error)
        else:
            self._say(f"cannot write {self._path}: {error}")

    def _start_afresh(self, error: sqlite3.Error) -> None:
        self._db.close()
        aside = move_aside(self._path)
        try:
            self._db, _ = open_state(self._file)
        except StateError as again:
            self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            self._inode = None
            self._say(f"cannot write {self._path}: {again}")
            return
        self._inode = _inode(self._path)
        self._events.reset(f"{self._path} is corrupt ({error}); moved to {aside.name}")
        self._next_try_s = 0.0

    def _begin_anew(self) -> bool:
        """What is open is not what stands at the path: nobody would find what is written to it."""
        self._next_try_s = time.monotonic() + RETRY_S
        try:
            self._keep_ownership()
            db, _ = open_state(self._file)
        except (StateError, OSError) as error:
            self._say(f"cannot write {self._path}: it was taken away, and {error}")
            return False
        self._db.close()
        self._db, self._inode = db, _inode(self._path)
        self._events.reset(f"{self._path} was taken away while running; begun anew")
        return True

    def _keep_ownership(self) -> None:
        lock = self._path.with_name(f"{self._path.name}.lock")
        held = os.fstat(self._lock_fd)
        if _inode(lock) != (held.st_dev, held.st_ino):
            lock_fd = take_ownership(self._path)
            os.close(self._lock_fd)
            self._lock_fd = lock_fd

    def _say(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self._events.trouble(trouble)

    def _unread(self, error: sqlite3.Error | StateError) -> None:
        if not isinstance(error, sqlite3.Error) or not is_damage(error):
            self._say(f"cannot read {self._path}: {error}")
        elif self._inode is not None:
            self._start_afresh(error)

    def _answer(
        self, query: Callable[[sqlite3.Connection], Any], deliver: Callable[[Any], None]
    ) -> None:
        try:
            found = query(self._db)
        except (sqlite3.Error, StateError) as error:
            self._unread(error)
            found = None
        except Exception as error:  # noqa: BLE001 - one question must not end the writing of all
            said = (type(error), error, error.__traceback__, threading.current_thread())
            threading.__excepthook__(threading.ExceptHookArgs(said))
            found = None
        deliver(found)


def _version(db: sqlite3.Connection) -> int:
    """What only the file itself can answer."""
    (found,) = db.execute("PRAGMA schema_version").fetchone()
    return int(found)


def _nothing(_: object) -> None:
    """Nobody waits for the answer."""


def _found(error: sqlite3.Error, _: sqlite3.Connection) -> None:
    raise error


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - before each commit, at half the time
    except OSError:
        return None
    return status.st_dev, status.st_ino
