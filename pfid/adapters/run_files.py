"""A run's logs and step files, found by path with the user's own rights, opened for a watcher.

Paths are looked at, which works on every file system and costs a stat a second; logs are watched
beside, so that one which is rotated twice within a second is not lost between two looks. Only
regular files are opened; a path may change under us.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pfid.wire.control import HandedLog, Role
from pfid.wire.handing import FileNews, OpenFile
from pfid.wire.record import RecordedLog

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_STEP_FILES_MAX: Final = 128

_Inode = tuple[int, int]


class RunFilesByPath:
    """Remembers which file each path held when it was last opened."""

    def __init__(self, logs: Iterable[RecordedLog], steps_dir: Path) -> None:
        """Nothing is opened yet.

        Args:
            logs: as recorded.
            steps_dir: where the trainer writes its step files.
        """
        self._logs = {
            log.path: HandedLog(begins_at=log.begins_at, size_at_start=log.older_bytes, place=place)
            for place, log in enumerate(logs)
        }
        self._steps_dir = steps_dir
        self._known: dict[str, _Inode] = {}

    def open_all(self) -> list[OpenFile]:
        """Open every file that exists now."""
        self._known = {}
        return [*self._open_logs(), *self._open_new_steps()]

    def news(self) -> FileNews:
        """Open what came since the last look, and what took the place of another file."""
        added = self._opened([path for path in self._logs if path not in self._known])
        replaced = self._opened([path for path in self._logs if self._replaced(path)])
        return FileNews(
            added=[*added, *self._open_new_steps()],
            logs_replaced=replaced,
            all_logs_replaced=len(replaced) == len(self._logs),
        )

    @contextmanager
    def watched(self, changed: Callable[[], None]) -> Iterator[None]:
        """While open, call ``changed`` when a log's path holds another file."""
        from pfid.adapters.path_watch import PathWatch  # a short run is over before it is needed

        watch = PathWatch((Path(path) for path in self._logs), lambda _path: changed())
        try:
            yield
        finally:
            watch.close()

    def _replaced(self, path: str) -> bool:
        known = self._known.get(path)
        found = _regular(path)
        return known is not None and found is not None and found != known

    def _open_logs(self) -> list[OpenFile]:
        return self._opened(self._logs)

    def _opened(self, paths: Iterable[str]) -> list[OpenFile]:
        opened = (self._open(path, Role.LOG, self._handed(path)) for path in paths)
        return [file for file in opened if file is not None]

    def _handed(self, path: str) -> HandedLog:
        """A file that took the place of another holds nothing older than the run."""
        handed = self._logs[path]
        return HandedLog(place=handed.place, replaces=True) if self._replaced(path) else handed

    def _open_new_steps(self) -> list[OpenFile]:
        found = []
        with suppress(OSError):
            found = sorted(self._steps_dir.glob("*.jsonl"))[:_STEP_FILES_MAX]
        new = (str(file) for file in found if str(file) not in self._known)
        opened = (self._open(path, Role.STEPS, HandedLog()) for path in new)
        return [file for file in opened if file is not None]

    def _open(self, path: str, role: Role, handed: HandedLog) -> OpenFile | None:
        try:
            descriptor = os.open(path, _FLAGS)
        except OSError:
            return None
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            return None
        self._known[path] = (found.st_dev, found.st_ino)
        return OpenFile(descriptor=descriptor, role=role, handed=handed)


def _regular(path: str) -> _Inode | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None
