"""The user's side of a followed log: tells when its path holds another file.

The daemon follows descriptors and cannot see that logrotate, or the program itself, put a new file
in the log's place; whoever has the user's rights watches the path and hands over the new one.
The folder is watched by inotify (watchdog). Where that tells nothing (network file systems, FUSE)
or cannot be had (no watches left), the path is looked at every second instead; all paths are looked
at now and then in any case, since a whole folder may be renamed.
"""

import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from watchdog.events import (
    FileCreatedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from pfid.workers.admission import ON_NETWORK
from pfid.workers.mounts import MOUNTS, is_fuse

POLL_S: Final = 1.0
ALL_POLLS: Final = 10
"""Every so many rounds the watched paths are looked at as well."""

_Inode = tuple[int, int]


class PathWatch:
    """Watches paths until closed; each may name a file that does not exist yet."""

    def __init__(
        self, paths: Iterable[Path], replaced: Callable[[Path], None], *, poll_s: float = POLL_S
    ) -> None:
        """Start watching. What the paths hold now is no news.

        Args:
            paths: of logs and step files.
            replaced: called with a path that holds another file than before, from a thread of
                the watch; never for a path that holds none. A path may come again.
            poll_s: between two looks where inotify is of no use.
        """
        self._replaced = replaced
        self._poll_s = poll_s
        self._lock = threading.Lock()
        self._held = {path: _inode(path) for path in paths}
        self._observer: BaseObserver | None = None
        self.polled: Final = frozenset(path for path in self._held if not self._watched(path))
        """Paths that inotify does not watch."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="path watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop; no call comes after it."""
        self._stop.set()
        self._thread.join()
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()

    def _watched(self, path: Path) -> bool:
        """Have inotify watch the path's folder; False if it would not tell or cannot."""
        folder = path.parent
        if not _tells(folder):
            return False
        kinds: list[type[FileSystemEvent]] = [FileCreatedEvent, FileMovedEvent]
        try:
            if self._observer is None:
                self._observer = Observer()
                self._observer.start()
            self._observer.schedule(_Handler(self._look_at), str(folder), event_filter=kinds)
        except OSError:  # no folder, or the user's inotify instances or watches are used up
            return False
        return True

    def _look_at(self, name: str) -> None:
        path = Path(name)
        if path in self._held:
            self._look(path)

    def _poll(self) -> None:
        rounds = 0
        while not self._stop.wait(self._poll_s):
            rounds += 1
            for path in self._held if rounds % ALL_POLLS == 0 else self.polled:
                self._look(path)

    def _look(self, path: Path) -> None:
        with self._lock:
            found = _inode(path)
            news = found is not None and found != self._held[path]
            if news:
                self._held[path] = found
        if news and not self._stop.is_set():
            self._replaced(path)


class _Handler(FileSystemEventHandler):
    """Passes on the names of files that appeared, by creation or by rename."""

    def __init__(self, appeared: Callable[[str], None]) -> None:
        self._appeared = appeared

    def on_created(self, event: FileSystemEvent) -> None:
        self._appeared(os.fsdecode(event.src_path))

    def on_moved(self, event: FileSystemEvent) -> None:
        self._appeared(os.fsdecode(event.dest_path))


def _inode(path: Path) -> _Inode | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _tells(folder: Path) -> bool:
    """Return whether inotify sees every change in ``folder``, whoever makes it."""
    try:
        fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            type_name = MOUNTS.type_of(fd)
        finally:
            os.close(fd)
    except OSError:
        return False
    return not (is_fuse(type_name) or type_name in ON_NETWORK)
