"""Which handed-over descriptors are followed: regular files on file systems known to behave.

A user may choose a file on purpose that never answers a read (FUSE), that costs the kernel work at
every read (procfs, sysfs), or that is no file on disk (memfd). A test for a regular file lets all
of them pass, so file systems are allowed by name. Nothing here waits for a file system's answer.
"""

import fcntl
import os
import stat
from dataclasses import dataclass
from typing import Final

from pfid.wire.reader import CloseReason
from pfid.workers.mounts import FUSE_MAGIC, MOUNTS, is_fuse

ON_DISK: Final = frozenset(
    {"bcachefs", "btrfs", "ecryptfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "ntfs3"}
    | {"overlay", "ramfs", "reiserfs", "rootfs", "tmpfs", "vfat", "xfs", "zfs"}
)
ON_NETWORK: Final = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "nfs", "nfs4", "orangefs", "pvfs2"}
    | {"smb3", "virtiofs"}
)
"""A read can hang with the server, but it can be killed: the owner's deadline sees to it."""
ALLOWED: Final = ON_DISK | ON_NETWORK
"""By the name in the mount table. Refused among those whose files are regular: proc, sysfs, cgroup,
debugfs, tracefs, securityfs, pstore, bpf, hugetlbfs, and FUSE unless allowed."""
ALLOWED_MAGIC: Final = frozenset(
    {0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x858458F6, 0x794C7630, 0x2FC12FC1, 0xF2F52010}
    | {0xCA451A4E, 0x3153464A, 0x52654973, 0xF15F, 0x2011BAB0, 0x4D44, 0x7366746E, 0x6969}
    | {0xFF534D42, 0xFE534D42, 0x01021997, 0x00C36400, 0x0BD00BD0, 0x47504653, 0x19830326}
    | {0x20030528, 0x5346414F}
)
"""The same, by f_type of fstatfs(2), for mounts that our mount table does not show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a descriptor is not followed.

    Attributes:
        why: the reason.
        detail: name or number of the file system; never a path.
    """

    why: CloseReason
    detail: str = ""


class Admission:
    """Tells which descriptors may be followed."""

    def __init__(self, *, allow_fuse: bool = False) -> None:
        """Allow FUSE only where one user alone is served."""
        self._allow_fuse = allow_fuse
        self._memory_device = _memory_device()

    def refusal(self, fd: int) -> Refusal | None:
        """Return why ``fd`` is refused, None if it may be followed.

        Raises:
            OSError: if it is no descriptor.
        """
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        if flags & os.O_PATH or flags & os.O_ACCMODE == os.O_WRONLY:
            return Refusal(why=CloseReason.NOT_READABLE)
        known = MOUNTS.cached_attributes(fd)
        if not stat.S_ISREG(known.mode):
            return Refusal(why=CloseReason.NOT_REGULAR)
        if known.device == self._memory_device:
            return Refusal(why=CloseReason.FILESYSTEM_REFUSED, detail="memfd")
        return self._file_system_refusal(fd)

    def _file_system_refusal(self, fd: int) -> Refusal | None:
        type_name = MOUNTS.type_of(fd)
        if type_name in ALLOWED or (self._allow_fuse and is_fuse(type_name)):
            return None
        if is_fuse(type_name):
            return Refusal(why=CloseReason.FILESYSTEM_REFUSED, detail="fuse")
        magic = 0 if type_name else MOUNTS.magic_of(fd)
        if magic in ALLOWED_MAGIC or (self._allow_fuse and magic == FUSE_MAGIC):
            return None
        return Refusal(why=CloseReason.FILESYSTEM_REFUSED, detail=type_name or hex(magic))


def _memory_device() -> str:
    """Return the device of memfds: tmpfs by its magic number, but mounted nowhere."""
    fd = os.memfd_create("pfid", os.MFD_CLOEXEC)
    try:
        return MOUNTS.cached_attributes(fd).device
    finally:
        os.close(fd)
