"""How much memory the kernel could still give: to the box, and under the limits of a cgroup.

Caches of files are counted as free, as ``MemAvailable`` counts them: the kernel gives them back
before it kills. ``memory.usage`` and ``memory.current`` alone are near the limit on any box that
reads much.
"""

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

_MOUNT: Final = Path("/sys/fs/cgroup")
_READ_BYTES: Final = 16 * 1024
_TOTAL: Final = re.compile(rb"^MemTotal:\s+(\d+) kB$", re.MULTILINE)
_AVAILABLE: Final = re.compile(rb"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)
_V1: Final = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat")
_V2: Final = ("memory.max", "memory.current", "memory.stat")
_CACHES_V1: Final = re.compile(rb"^total_(?:in)?active_file (\d+)$", re.MULTILINE)
_CACHES_V2: Final = re.compile(rb"^(?:in)?active_file (\d+)$", re.MULTILINE)
_UNLIMITED_V1: Final = 1 << 62
"""Version 1 writes the largest number of pages that there is."""
FOUND_EVERY: Final = 12
"""Limits that were set since are looked for in every so many looks."""


class Room(NamedTuple):
    """What there is at the place that is nearest to being full."""

    limit_bytes: int
    available_bytes: int

    @property
    def share(self) -> float:
        """Of it that is left."""
        return self.available_bytes / self.limit_bytes


class _Level:
    """A cgroup with a limit, read through kept descriptors."""

    def __init__(self, folder: Path, names: tuple[str, str, str]) -> None:
        self._caches = _CACHES_V1 if names is _V1 else _CACHES_V2
        self._fds = tuple(fd for name in names if (fd := _open(folder / name)) is not None)

    def room(self, total_bytes: int) -> Room | None:
        """None where there is no limit below ``total_bytes``, or no reading."""
        if len(self._fds) < len(_V2):
            return None
        limit, used, stat = (_pread(fd) for fd in self._fds)
        if not limit.strip().isdigit() or not used.strip().isdigit():
            return None
        if not 0 < int(limit) < total_bytes:
            return None
        held = int(used) - sum(map(int, self._caches.findall(stat)))
        return Room(int(limit), max(0, int(limit) - max(0, held)))

    def close(self) -> None:
        for fd in self._fds:
            os.close(fd)


class MemoryRooms:
    """Reads them; what is kept of a cgroup is let go with :meth:`forget`."""

    def __init__(self, proc: Path = Path("/proc"), mount: Path = _MOUNT) -> None:
        """Read below ``proc`` and ``mount``."""
        self._proc = proc
        self._mount = mount
        self._box_fd: int | None = None
        self._levels: dict[str, list[_Level]] = {}
        self._looks: dict[str, int] = {}

    def room(self, place: str | None) -> Room | None:
        """The scantest among the box and the limits above a process; None if it cannot be known.

        Args:
            place: file in the process's cgroup, as :meth:`OomCounter.place_of` names it.
        """
        box = self._box()
        if box is None or place is None:
            return box
        limited = (level.room(box.limit_bytes) for level in self._of(place))
        return min((box, *(room for room in limited if room is not None)), key=_share)

    def forget(self, place: str) -> None:
        """Close what was kept for a cgroup that no run is in any more."""
        self._looks.pop(place, None)
        for level in self._levels.pop(place, ()):
            level.close()

    def close(self) -> None:
        """Close everything."""
        for place in list(self._levels):
            self.forget(place)
        if self._box_fd is not None:
            os.close(self._box_fd)
            self._box_fd = None

    def _box(self) -> Room | None:
        if self._box_fd is None:
            self._box_fd = _open(self._proc / "meminfo")
        told = b"" if self._box_fd is None else _pread(self._box_fd)
        total, available = _TOTAL.search(told), _AVAILABLE.search(told)
        if total is None or available is None or not int(total[1]):
            return None
        return Room(int(total[1]) * 1024, int(available[1]) * 1024)

    def _of(self, place: str) -> list[_Level]:
        """Levels with a limit, found again now and then."""
        looks = self._looks.get(place, 0)
        if looks % FOUND_EVERY == 0:
            self.forget(place)
            self._levels[place] = _limited(Path(place), self._mount)
        self._looks[place] = looks + 1
        return self._levels[place]


def _limited(place: Path, mount: Path) -> list[_Level]:
    """The process's cgroup and those above it, where a limit is set."""
    names = _V1 if place.name == "memory.oom_control" else _V2
    root = mount / "memory" if names is _V1 else mount
    folders = [f for f in (place.parent, *place.parent.parents) if f.is_relative_to(root)]
    return [_Level(folder, names) for folder in folders if _has_limit(folder / names[0])]


def _has_limit(file: Path) -> bool:
    try:
        told = file.read_bytes().strip()
    except OSError:
        return False
    return told.isdigit() and int(told) < _UNLIMITED_V1


def _share(room: Room) -> float:
    return room.share


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _pread(fd: int) -> bytes:
    try:
        return os.pread(fd, _READ_BYTES, 0)
    except OSError:
        return b""
