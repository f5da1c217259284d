"""A cgroup with a limit of memory, for a canary that is to be killed by the kernel.

Of cgroup version 1 or 2, whichever holds the memory controller. It takes the right to make one
below its root, which root has and few others.
"""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pfid.bootstrap.live.canary import CannotPlantError, NotDeliveredError

LIMIT_BYTES: Final = 64 * 1024 * 1024
GONE_S: Final = 10.0
_V1: Final = Path("/sys/fs/cgroup/memory")
_V2: Final = Path("/sys/fs/cgroup")


class MemoryLimit:
    """One such cgroup."""

    def __init__(self, path: Path, count_file: str) -> None:
        self._path = path
        self._count_file = path / count_file

    def take(self, pid: int) -> None:
        """Put a process into it.

        Raises:
            NotDeliveredError: if it does not go there.
        """
        try:
            (self._path / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            raise NotDeliveredError(f"the canary has no limit of memory: {error}") from error

    def seen(self) -> None:
        """Read the kernel's own count.

        Raises:
            NotDeliveredError: if the kernel killed nothing there.
        """
        lines = self._count_file.read_text().splitlines()
        if int(dict(line.split() for line in lines).get("oom_kill", "0")) < 1:
            raise NotDeliveredError("the kernel counts no kill for memory")


@contextlib.contextmanager
def memory_limit() -> Iterator[MemoryLimit]:
    """Make one, and take it away again once its processes are gone.

    Raises:
        CannotPlantError: where none can be made.
    """
    path, limits, count_file = _kind()
    try:
        path.mkdir()
    except OSError as error:
        raise CannotPlantError(
            f"no cgroup can be made in {path.parent}: {error.strerror}"
        ) from error
    try:
        _bound(path, limits)
        yield MemoryLimit(path, count_file)
    finally:
        _remove(path)


def _kind() -> tuple[Path, tuple[str, ...], str]:
    name = f"pfid-drill-{os.getpid()}-{secrets.token_hex(4)}"
    if (_V1 / "memory.limit_in_bytes").exists():
        limits = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
        return _V1 / name, limits, "memory.oom_control"
    with contextlib.suppress(OSError):
        if "memory" in (_V2 / "cgroup.subtree_control").read_text().split():
            return _V2 / name, ("memory.max", "memory.swap.max"), "memory.events"
    raise CannotPlantError("no memory controller of either cgroup version is to be had here")


def _bound(path: Path, limits: tuple[str, ...]) -> None:
    first, swap = limits
    try:
        (path / first).write_text(str(LIMIT_BYTES))
    except OSError as error:
        raise CannotPlantError(f"{path / first} takes no limit: {error.strerror}") from error
    with contextlib.suppress(OSError):  # where swap is not counted there is none to say it of
        (path / swap).write_text("0" if swap == "memory.swap.max" else str(LIMIT_BYTES))


def _remove(path: Path) -> None:
    until_s = time.monotonic() + GONE_S
    while path.is_dir() and time.monotonic() < until_s:
        with contextlib.suppress(OSError):
            path.rmdir()
            return
        time.sleep(0.05)
