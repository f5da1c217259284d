"""A run's logs and step files, found by path with the user's own rights, opened for a watcher.

Paths are looked at, which works on every file system and costs a stat a second; logs are watched
beside, so that one which is rotated twice within a second is not lost between two looks. Only
regular files are opened; a path may change under us.

Of each log a descriptor is kept, because a watcher may be away when the log is rotated: what it
had not read by then stands in a file that has no name any more which we would know.
"""

import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pfid.wire.control import HandedLog, Role
from pfid.wire.handing import FileNews, OpenFile
from pfid.wire.record import RecordedLog

_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_STEP_FILES_MAX: Final = 128
KEPT_MAX: Final = 8
"""Files that stood at one log's path and were not handed over; the oldest go first."""

_Inode = tuple[int, int]


@dataclass(slots=True)
class _Log:
    """One path, and the files that stood there one after another.

    Attributes:
        kept: oldest first; the last one stands there now, or stood there last.
        rotated: whether the oldest of them took the place of another.
        told: how many of them the watchers know.
    """

    handed: HandedLog
    kept: deque[int] = field(default_factory=deque)
    inode: _Inode | None = None
    rotated: bool = False
    told: int = 0

    def first(self) -> HandedLog:
        """What is said of the oldest; one that took another's place holds nothing older."""
        return HandedLog(place=self.handed.place) if self.rotated else self.handed

    def add(self, descriptor: int, inode: _Inode) -> None:
        """Keep the file that stands there now."""
        self.kept.append(descriptor)
        self.inode = inode
        if len(self.kept) > KEPT_MAX:
            self._drop()

    def forget_older(self) -> None:
        """Keep the last one alone, once all of them were taken."""
        while len(self.kept) > 1 and self.told == len(self.kept):
            self._drop()

    def worth_telling(self) -> int:
        """How many of them the watchers are to know: not the last ones while they are empty.

        Whoever renames a log and makes it anew may well leave the run writing to the old one.
        """
        number = len(self.kept)
        least = max(self.told, 0 if self.rotated else min(1, number))
        while number > least and _is_empty(self.kept[number - 1]):
            number -= 1
        return number

    def _drop(self) -> None:
        os.close(self.kept.popleft())
        self.rotated = True
        self.told = max(0, self.told - 1)


class RunFilesByPath:
    """Remembers which file each path held when it was last opened."""

    def __init__(self, logs: Iterable[RecordedLog], steps_dir: Path) -> None:
        """Nothing is opened yet.

        Args:
            logs: as recorded.
            steps_dir: where the trainer writes its step files.
        """
        self._logs = {
            log.path: _Log(
                HandedLog(begins_at=log.begins_at, size_at_start=log.older_bytes, place=place)
            )
            for place, log in enumerate(logs)
        }
        self._steps_dir = steps_dir
        self._steps_known: set[str] = set()

    def open_all(self) -> list[OpenFile]:
        """Open every file that exists now; of a log that was rotated meanwhile, the oldest kept.

        Those that took its place are told by ``news``.
        """
        self._steps_known.clear()
        self.look()
        opened = []
        for log in self._logs.values():
            log.told = min(1, len(log.kept))
            if log.kept:
                opened.append(_copy(log.kept[0], log.first()))
        return [*opened, *self._open_new_steps()]

    def news(self) -> FileNews:
        """Open what came since the last look, and what took another file's place in earnest.

        A new file counts once something stands in it: until then the run writes to the old one.
        """
        self.look()
        added, replaced = [], []
        for log in self._logs.values():
            known, log.told = log.told, log.worth_telling()
            for number in range(known, log.told):
                if number or log.rotated:
                    taken = HandedLog(place=log.handed.place, replaces=True)
                    replaced.append(_copy(log.kept[number], taken))
                else:
                    added.append(_copy(log.kept[number], log.handed))
        places = {file.handed.place for file in replaced}
        return FileNews(
            added=[*added, *self._open_new_steps()],
            logs_replaced=replaced,
            all_logs_replaced=len(places) == len(replaced) == len(self._logs),
        )

    def look(self) -> None:
        """Keep what stands at the logs' paths now, for whoever asks later."""
        for path, log in self._logs.items():
            if _regular(path) not in {None, log.inode}:
                self._keep(path, log)

    def taken(self) -> None:
        """Whoever watches has what was opened: keep nothing older than what stands there."""
        for log in self._logs.values():
            log.forget_older()

    def close(self) -> None:
        """Let go of what is kept."""
        for log in self._logs.values():
            while log.kept:
                os.close(log.kept.pop())
            log.inode = None

    @contextmanager
    def watched(self, changed: Callable[[], None]) -> Iterator[None]:
        """While open, call ``changed`` when a log's path holds another file."""
        from pfid.adapters.path_watch import PathWatch  # a short run is over before it is needed

        watch = PathWatch((Path(path) for path in self._logs), lambda _path: changed())
        try:
            yield
        finally:
            watch.close()

    def _keep(self, path: str, log: _Log) -> None:
        opened = _open(path)
        if opened is not None and opened[1] == log.inode:
            os.close(opened[0])
        elif opened is not None:
            log.add(*opened)

    def _open_new_steps(self) -> list[OpenFile]:
        found = []
        with suppress(OSError):
            found = sorted(self._steps_dir.glob("*.jsonl"), key=_in_order)[:_STEP_FILES_MAX]
        opened = []
        for file in map(str, found):
            if file not in self._steps_known and (it := _open(file)) is not None:
                self._steps_known.add(file)
                opened.append(OpenFile(descriptor=it[0], role=Role.STEPS, handed=HandedLog()))
        return opened


def _in_order(file: Path) -> tuple[int, str]:
    """Rank 2 before rank 10: whoever watches leaves out the last where there are too many."""
    return len(file.name), file.name


def _copy(descriptor: int, handed: HandedLog) -> OpenFile:
    return OpenFile(descriptor=os.dup(descriptor), role=Role.LOG, handed=handed)


def _is_empty(descriptor: int) -> bool:
    try:
        return os.fstat(descriptor).st_size == 0
    except OSError:  # let whoever reads it find out
        return False


def _open(path: str) -> tuple[int, _Inode] | None:
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        return None
    return descriptor, (found.st_dev, found.st_ino)


def _regular(path: str) -> _Inode | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None
