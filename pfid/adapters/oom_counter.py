"""How many processes the kernel has killed for memory: on the box, and in one cgroup.

A SIGKILL does not say who sent it. The kernel counts before it sends one, so a count that rose
around a death tells. The cgroup's own count decides where it can be read; the box's is for the
rest.
"""

import contextlib
import os
from pathlib import Path
from typing import Final

_MOUNT: Final = Path("/sys/fs/cgroup")
_READ_BYTES: Final = 16 * 1024
_COUNT: Final = b"\noom_kill "


class OomCounter:
    """Reads the counters through kept descriptors."""

    def __init__(self, proc: Path = Path("/proc"), mount: Path = _MOUNT) -> None:
        """Read below ``proc`` and ``mount``."""
        self._proc = proc
        self._mount = mount
        self._box_fd: int | None = None
        self._fds: dict[str, int] = {}

    def box(self) -> int | None:
        """OOM kills since boot; None if the kernel does not count them."""
        if self._box_fd is None:
            self._box_fd = _open(self._proc / "vmstat")
        return _count(self._box_fd)

    def place_of(self, pid: int) -> str | None:
        """File that counts the OOM kills of the process's cgroup; None if there is none."""
        try:
            lines = (self._proc / str(pid) / "cgroup").read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return None
        for line in lines:
            _, controllers, path = (line + "::").split(":")[:3]
            below = path.lstrip("/")
            if "memory" in controllers.split(","):
                return self._known(self._mount / "memory" / below / "memory.oom_control")
            if not controllers and (place := self._known(self._mount / below / "memory.events")):
                return place
        return None

    def cgroup(self, place: str) -> int | None:
        """OOM kills counted there; None once it cannot be read."""
        if place not in self._fds and (fd := _open(Path(place))) is not None:
            self._fds[place] = fd
        return _count(self._fds.get(place))

    def forget(self, place: str) -> None:
        """Close what was kept for a cgroup that no run is in any more."""
        if (fd := self._fds.pop(place, None)) is not None:
            os.close(fd)

    def close(self) -> None:
        """Close everything."""
        for place in list(self._fds):
            self.forget(place)
        if self._box_fd is not None:
            os.close(self._box_fd)
            self._box_fd = None

    def _known(self, place: Path) -> str | None:
        return str(place) if self.cgroup(str(place)) is not None else None


def _open(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _count(fd: int | None) -> int | None:
    if fd is None:
        return None
    with contextlib.suppress(OSError, ValueError):
        said = b"\n" + os.pread(fd, _READ_BYTES, 0)
        at = said.find(_COUNT)
        if at >= 0:
            return int(said[at + len(_COUNT) :].split(b"\n", 1)[0])
    return None
