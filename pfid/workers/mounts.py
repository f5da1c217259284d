"""What file system a descriptor is on, without asking that file system anything.

fstat and fstatfs go to the file system, and a FUSE server or a dead NFS mount may never answer.
The mount table and the attributes that the kernel has cached are there at once.
"""

import ctypes
import os
import time
from typing import Final

FUSE_MAGIC: Final = 0x65735546
_AGE_S: Final = 5.0
_AT_EMPTY_PATH: Final = 0x1000
_AT_STATX_DONT_SYNC: Final = 0x4000
_STATX_BYTES: Final = 256
_STATFS_BYTES: Final = 256
_DEVICE_AT: Final = 136
"""Offset of stx_dev_major in struct statx; stx_dev_minor follows."""


class MountTable:
    """This process's mounts, read anew every few seconds at most."""

    def __init__(self) -> None:
        """Read nothing yet."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._by_id: dict[str, str] = {}
        self._by_device: dict[str, str] = {}
        self._read_at_s: float | None = None

    def type_of(self, fd: int) -> str:
        """Return the file system's name ("ext4", "fuse.sshfs"), "" if the table does not know it.

        It does not for pipes and the like, nor for a mount made in a namespace that we do not see.
        Such a one is asked whether it is FUSE. That is safe against everybody but root: for a FUSE
        mount of a user's own namespace the kernel answers, without its server.
        """
        now_s = time.monotonic()
        if self._read_at_s is None or now_s - self._read_at_s > _AGE_S:
            self._read()
            self._read_at_s = now_s
        known = self._by_id.get(_mount_id(fd)) or self._by_device.get(self._device(fd))
        return known or ("fuse" if self.magic_of(fd) == FUSE_MAGIC else "")

    def _read(self) -> None:
        """Read mountinfo: id, parent, device, ... - type; see proc(5)."""
        self._by_id, self._by_device = {}, {}
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as lines:  # noqa: PTH123 - a worker stays small
            for line in lines:
                before, _, after = line.partition(" - ")
                mount_id, _, device, _ = before.split(" ", 3)
                type_name = after.split(" ", 1)[0]
                self._by_id[mount_id] = self._by_device[device] = type_name

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

    def _device(self, fd: int) -> str:
        """Return "major:minor" from what the kernel has cached; "" if it has no answer."""
        buffer = ctypes.create_string_buffer(_STATX_BYTES)
        flags = _AT_EMPTY_PATH | _AT_STATX_DONT_SYNC
        try:
            failed = self._libc.statx(fd, b"", flags, 0, buffer)
        except AttributeError:  # a C library older than the call
            return ""
        if failed:
            return ""
        numbers = (ctypes.c_uint32 * 2).from_buffer(buffer, _DEVICE_AT)
        return f"{numbers[0]}:{numbers[1]}"


def _mount_id(fd: int) -> str:
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii", errors="replace") as lines:  # noqa: PTH123 - as above
        for line in lines:
            name, _, value = line.partition(":")
            if name == "mnt_id":
                return value.strip()
    return ""


def is_fuse(type_name: str) -> bool:
    """Return whether files of that type are served by a process of some user.

    virtiofs speaks FUSE as well, but to the hypervisor.
    """
    return type_name in ("fuse", "fuseblk") or type_name.startswith(("fuse.", "fuseblk."))


def is_device_file_system(fd: int) -> bool:
    """Return whether ``fd`` names something that was never mounted, such as a pipe or a pidfd."""
    target = os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - as above
    return target.startswith(("pipe:", "socket:", "anon_inode:"))
