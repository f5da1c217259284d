"""This process's own descriptors: how many it may have, and what one of them is.

Nothing here asks a file system: ``fstat`` on a dead mount blocks, so what a log's descriptor is
worth is found out by the log reader, under its deadline.
"""

import contextlib
import fcntl
import os
import resource
from collections.abc import Iterable
from pathlib import Path

from pfid.workers.closing import CLOSER
from pfid.workers.mounts import MOUNTS, is_fuse


def raise_limit() -> int:
    """Raise the soft limit of open descriptors to the hard one; return the limit now in force."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def is_pidfd(fd: int) -> bool:
    """Return whether ``fd`` names a process; by its link, so nothing can block."""
    return os.readlink(f"/proc/self/fd/{fd}") == "anon_inode:[pidfd]"  # noqa: PTH115 - may be relative


def is_readable(fd: int) -> bool:
    """Return whether ``fd`` was opened for reading."""
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    return not flags & os.O_PATH and flags & os.O_ACCMODE != os.O_WRONLY


def close_all(fds: Iterable[int]) -> None:
    """Close descriptors that others handed over; never waits for their file system."""
    for fd in fds:
        CLOSER.close(fd)


def is_on_fuse(fd: int) -> bool:
    """Return whether ``fd`` is known to be on FUSE, without asking the file system."""
    return is_fuse(MOUNTS.type_of(fd))


def in_use() -> int:
    """Return how many descriptors this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir()) - 1
