"""When events are committed, seen from outside: a process of its own that reads the state file.

It is woken by inotify when sqlite writes its log, and looks until the event can be read: what it
notes is when anybody else could have known, on the clock that all processes share.
"""

import ctypes
import os
import select
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

IN_MODIFY: Final = 0x2
LOOKS: Final = 200
"""sqlite publishes a commit a few microseconds after it wrote it."""


class CommittedEvents:
    """Watches while the context is open; ``seen`` is complete afterwards."""

    def __init__(self, state_file: Path) -> None:
        """Watch this file."""
        self._file = state_file
        self.seen: dict[str, list[float]] = {}
        """When events about each subject could be read first, by ``time.perf_counter``."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(self._file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        if self._process.stdout.readline() != "ready\n":
            raise RuntimeError(f"nobody reads {self._file}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        told, _ = self._process.communicate(timeout=20)
        for line in told.splitlines():
            subject, _, at_s = line.rpartition(" ")
            self.seen.setdefault(subject, []).append(float(at_s))

    def first_after(self, subject: str, began_s: float) -> float:
        """Seconds from then to the first event about ``subject``.

        Raises:
            LookupError: if there was none.
        """
        later = [at_s for at_s in self.seen.get(subject, ()) if at_s > began_s]
        if not later:
            raise LookupError(f"no event about {subject} was committed")
        return min(later) - began_s


def main(state_file: str) -> None:
    """Note every new event until standard input is closed."""
    database = sqlite3.connect(f"file:{state_file}?mode=ro", uri=True, isolation_level=None)
    (last,) = database.execute("SELECT COALESCE(MAX(event_id), 0) FROM events").fetchone()
    inotify = _inotify(state_file + "-wal")
    poll = select.poll()
    for fd in (inotify, sys.stdin.fileno()):
        poll.register(fd, select.POLLIN)
    noted: list[tuple[str, float]] = []
    print("ready", flush=True)
    while inotify in {fd for fd, _ in poll.poll()}:  # else input is closed, and all was seen
        os.read(inotify, 65536)
        for _ in range(LOOKS):
            rows = database.execute(
                "SELECT event_id, subject FROM events WHERE event_id > ?", (last,)
            ).fetchall()
            if rows:
                break
        at_s = time.perf_counter()
        noted += [(subject, at_s) for _, subject in rows]
        last = max((event_id for event_id, _ in rows), default=last)
    for subject, at_s in noted:
        print(subject, at_s)


def _inotify(path: str) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    fd = int(libc.inotify_init1(os.O_CLOEXEC))
    if fd < 0 or libc.inotify_add_watch(fd, path.encode(), IN_MODIFY) < 0:
        raise OSError(ctypes.get_errno(), f"inotify of {path}")
    return fd


if __name__ == "__main__":
    main(sys.argv[1])
