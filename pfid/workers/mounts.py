"""What file system a descriptor is on, without asking that file system anything.

fstat and fstatfs go to the file system, and a FUSE server or a dead NFS mount may never answer.
The mount table and the attributes that the kernel has cached are there at once.
"""

import ctypes
import os
import select
import struct
import threading
from typing import Final, NamedTuple

FUSE_MAGIC: Final = 0x65735546
_AT_EMPTY_PATH: Final = 0x1000
_AT_STATX_DONT_SYNC: Final = 0x4000
_READ_BYTES: Final = 64 * 1024
_STATX_BYTES: Final = 256
_STATFS_BYTES: Final = 256
_WANTED: Final = 0x7FF | 0x1000
"""STATX_BASIC_STATS and STATX_MNT_ID; kernels before 5.8 leave the latter 0, which is no mount."""
_MODE: Final = struct.Struct("=H")
_MODE_AT: Final = 28
_PLACE: Final = struct.Struct("=IIQ")
_PLACE_AT: Final = 136
"""Offsets of stx_mode and of stx_dev_major in struct statx; stx_dev_minor, stx_mnt_id follow."""


class CachedAttributes(NamedTuple):
    """What the kernel has at hand of an open file.

    Attributes:
        device: "major:minor" of its file system.
        mount_id: as in mountinfo.
        mode: type and permissions.
    """

    device: str
    mount_id: str
    mode: int


class MountTable:
    """This process's mounts. The kernel says when they changed: a mount id is soon used again.

    For any thread: a poll object refuses a second thread with an exception of its own kind.
    """

    def __init__(self) -> None:
        """Read nothing yet."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._by_id: dict[str, str] = {}
        self._by_device: dict[str, str] = {}
        self._table: int | None = None
        self._changes = select.poll()
        self._one_at_a_time = threading.Lock()

    def type_of(self, fd: int) -> str:
        """Return the file system's name ("ext4", "fuse.sshfs"), "" if the table does not know it.

        It does not for pipes and the like, nor for a mount made in a namespace that we do not see.
        Such a one is asked whether it is FUSE. That is safe against everybody but root: for a FUSE
        mount of a user's own namespace the kernel answers, without its server.

        Raises:
            OSError: if the descriptor is none.
        """
        with self._one_at_a_time:
            self._refresh()
        place = self.cached_attributes(fd)
        known = self._by_id.get(place.mount_id) or self._by_device.get(place.device)
        return known or ("fuse" if self.magic_of(fd) == FUSE_MAGIC else "")

    def _refresh(self) -> None:
        """Read mountinfo if it changed."""
        if self._table is None:
            self._table = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
            self._changes.register(self._table, select.POLLERR | select.POLLPRI)
        elif not self._changes.poll(0):
            return
        self._by_id, self._by_device = types(_whole(self._table).decode(errors="replace"))

    def magic_of(self, fd: int) -> int:
        """Return f_type of fstatfs(2). This one does ask the file system.

        Raises:
            OSError: if it refuses.
        """
        buffer = ctypes.create_string_buffer(_STATFS_BYTES)
        if self._libc.fstatfs(fd, buffer) != 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        return ctypes.c_ulong.from_buffer(buffer).value & 0xFFFFFFFF  # f_type comes first

    def cached_attributes(self, fd: int) -> CachedAttributes:
        """Return what the kernel knows of ``fd`` without asking its file system.

        Raises:
            OSError: if it is no descriptor.
        """
        buffer = ctypes.create_string_buffer(_STATX_BYTES)
        if self._libc.statx(fd, b"", _AT_EMPTY_PATH | _AT_STATX_DONT_SYNC, _WANTED, buffer) != 0:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))
        (mode,) = _MODE.unpack_from(buffer, _MODE_AT)
        major, minor, mount_id = _PLACE.unpack_from(buffer, _PLACE_AT)
        return CachedAttributes(f"{major}:{minor}", str(mount_id), mode)


def types(mountinfo: str) -> tuple[dict[str, str], dict[str, str]]:
    """File systems' names by id of the mount and by device: id, parent, device, ... - type.

    See proc(5). A name of a mount point may hold any character but those the kernel escapes: a
    carriage return ends no line.
    """
    by_id, by_device = {}, {}
    for line in mountinfo.split("\n"):
        before, separator, after = line.partition(" - ")
        if separator:
            mount_id, _, device, _ = before.split(" ", 3)
            by_id[mount_id] = by_device[device] = after.split(" ", 1)[0]
    return by_id, by_device


def _whole(table: int) -> bytes:
    """What a file of procfs holds now; kept open for as long as the process lives."""
    os.lseek(table, 0, os.SEEK_SET)
    parts = []
    while part := os.read(table, _READ_BYTES):
        parts.append(part)
    return b"".join(parts)


def is_fuse(type_name: str) -> bool:
    """Return whether files of that type are served by a process of some user.

    virtiofs speaks FUSE as well, but to the hypervisor.
    """
    return type_name in ("fuse", "fuseblk") or type_name.startswith(("fuse.", "fuseblk."))


def is_device_file_system(fd: int) -> bool:
    """Return whether ``fd`` names something that was never mounted, such as a pipe or a pidfd."""
    target = os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - as above
    return target.startswith(("pipe:", "socket:", "anon_inode:"))


MOUNTS: Final = MountTable()
"""The process's own."""
