"""Which handed-over descriptors are followed: regular files on file systems known to behave.

A user may choose a file on purpose that never answers a read (FUSE), that costs the kernel work at
every read (procfs, sysfs), or that is no file on disk (memfd). A test for a regular file lets all
of them pass, so file systems are allowed by name, and FUSE is recognised before the first call
that would ask it anything: the mount table answers without touching the mount.
"""

import ctypes
import fcntl
import os
import stat
import time
from dataclasses import dataclass
from typing import Final

from pfid.wire.reader import CloseReason

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
FUSE_MAGIC: Final = 0x65735546
VIRTIOFS: Final = "virtiofs"
"""Speaks FUSE, but to the hypervisor and not to a process of some user."""
_MOUNTS_AGE_S: Final = 5.0
_STATFS_BYTES: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a descriptor is not followed."""

    why: CloseReason
    detail: str = ""


class Admission:
    """Tells which descriptors may be followed. Remembers the mount table for a few seconds."""

    def __init__(self, *, allow_fuse: bool = False) -> None:
        """Allow FUSE only for a reader that serves one user alone."""
        self._allow_fuse = allow_fuse
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._mounts: dict[str, str] = {}
        self._mounts_at_s: float | None = None
        self._memory_device = _memory_device()

    def refusal(self, fd: int) -> Refusal | None:
        """Return why ``fd`` is refused, None if it may be followed. May block on a dead mount."""
        flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        if flags & os.O_PATH or flags & os.O_ACCMODE == os.O_WRONLY:
            return Refusal(why=CloseReason.NOT_READABLE)
        mounted = self._mount_type(fd)
        if not self._allow_fuse and (mounted == "fuse" or mounted.startswith(("fuse.", "fuseblk"))):
            return Refusal(why=CloseReason.FILESYSTEM_REFUSED, detail="fuse")
        magic = self._magic(fd)
        fuse_is_fine = self._allow_fuse or mounted == VIRTIOFS
        if magic not in ALLOWED and not (magic == FUSE_MAGIC and fuse_is_fine):
            return Refusal(why=CloseReason.FILESYSTEM_REFUSED, detail=mounted or hex(magic))
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return Refusal(why=CloseReason.NOT_REGULAR)
        if status.st_dev == self._memory_device:
            return Refusal(why=CloseReason.FILESYSTEM_REFUSED, detail="memfd")
        return None

    def _magic(self, fd: int) -> int:
        buffer = ctypes.create_string_buffer(_STATFS_BYTES)
        if self._libc.fstatfs(fd, buffer) != 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        return ctypes.c_ulong.from_buffer(buffer).value & 0xFFFFFFFF  # f_type comes first

    def _mount_type(self, fd: int) -> str:
        """Return the file system's name, "" if the mount is not in our namespace."""
        return self._mount_table().get(_mount_id(fd), "")

    def _mount_table(self) -> dict[str, str]:
        now_s = time.monotonic()
        if self._mounts_at_s is None or now_s - self._mounts_at_s > _MOUNTS_AGE_S:
            self._mounts = _read_mounts()
            self._mounts_at_s = now_s
        return self._mounts


def _mount_id(fd: int) -> str:
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii", errors="replace") as lines:  # noqa: PTH123
        for line in lines:
            name, _, value = line.partition(":")
            if name == "mnt_id":
                return value.strip()
    return ""


def _read_mounts() -> dict[str, str]:
    """Mount id to file system; see proc(5): the type is the first field after the lone hyphen."""
    table = {}
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
        for line in lines:
            before, _, after = line.partition(" - ")
            table[before.split(" ", 1)[0]] = after.split(" ", 1)[0]
    return table


def _memory_device() -> int:
    """Return the device number of memfds: tmpfs by its magic, but mounted nowhere."""
    fd = os.memfd_create("pfid", os.MFD_CLOEXEC)
    try:
        return os.fstat(fd).st_dev
    finally:
        os.close(fd)
