"""Which handed-over descriptors are followed: regular files on file systems known to behave.

A user may choose a file on purpose that never answers a read (FUSE), that costs the kernel work at
every read (procfs, sysfs), or that is no file on disk (memfd). A test for a regular file lets all
of them pass, so file systems are allowed by name, and FUSE is recognised before the first call
that would ask it anything: the mount table answers without touching the mount.
"""

import fcntl
import os
import stat
from dataclasses import dataclass
from typing import Final

from pfid.wire.reader import CloseReason
from pfid.workers.mounts import FUSE_MAGIC, MountTable, is_fuse

ALLOWED: Final[dict[int, str]] = {
    0xEF53: "ext",
    0x58465342: "xfs",
    0x9123683E: "btrfs",
    0x01021994: "tmpfs",
    0x858458F6: "ramfs",
    0x794C7630: "overlay",
    0x2FC12FC1: "zfs",
    0xF2F52010: "f2fs",
    0xCA451A4E: "bcachefs",
    0x3153464A: "jfs",
    0x52654973: "reiserfs",
    0xF15F: "ecryptfs",
    0x2011BAB0: "exfat",
    0x4D44: "vfat",
    0x7366746E: "ntfs3",
    # On the network: a read can hang with the server, but it can be killed: the owner's deadline.
    0x6969: "nfs",
    0xFF534D42: "cifs",
    0xFE534D42: "smb2",
    0x01021997: "9p",
    0x00C36400: "ceph",
    0x0BD00BD0: "lustre",
    0x47504653: "gpfs",
    0x19830326: "beegfs",
    0x20030528: "orangefs",
    0x5346414F: "afs",
}
"""File systems by the magic number fstatfs(2) gives. Everything else is refused: among those that
pass a test for a regular file procfs, sysfs, cgroup, debugfs, tracefs, securityfs, pstore, bpf."""
VIRTIOFS: Final = "virtiofs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a descriptor is not followed."""

    why: CloseReason
    detail: str = ""


class Admission:
    """Tells which descriptors may be followed."""

    def __init__(self, *, allow_fuse: bool = False) -> None:
        """Allow FUSE only for a reader that serves one user alone."""
        self._allow_fuse = allow_fuse
        self._mounts = MountTable()
        self._memory_device = _memory_device()

    def refusal(self, fd: int) -> Refusal | None:
        """Return why ``fd`` is refused, None if it may be followed. May block on a dead mount."""
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        if flags & os.O_PATH or flags & os.O_ACCMODE == os.O_WRONLY:
            return Refusal(why=CloseReason.NOT_READABLE)
        mounted = self._mounts.type_of(fd)
        if is_fuse(mounted) and not self._allow_fuse:
            return Refusal(why=CloseReason.FILESYSTEM_REFUSED, detail="fuse")
        magic = self._mounts.magic_of(fd)
        fuse_is_fine = self._allow_fuse or mounted == VIRTIOFS
        if magic not in ALLOWED and not (magic == FUSE_MAGIC and fuse_is_fine):
            return Refusal(why=CloseReason.FILESYSTEM_REFUSED, detail=mounted or hex(magic))
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return Refusal(why=CloseReason.NOT_REGULAR)
        if status.st_dev == self._memory_device:
            return Refusal(why=CloseReason.FILESYSTEM_REFUSED, detail="memfd")
        return None


def _memory_device() -> int:
    """Return the device number of memfds: tmpfs by its magic, but mounted nowhere."""
    fd = os.memfd_create("pfid", os.MFD_CLOEXEC)
    try:
        return os.fstat(fd).st_dev
    finally:
        os.close(fd)
