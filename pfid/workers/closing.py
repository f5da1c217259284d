"""Close a descriptor that a stranger handed over, without waiting for the stranger.

close(2) asks a FUSE server to flush and waits for the answer, uninterruptibly: one such descriptor
would hang a daemon for ever, in its normal work or at its exit. So one that may be on FUSE is
closed by a short-lived process that shares our descriptor table (systemd's asynchronous_close does
the same): if it hangs, it hangs alone, and the number is free at once.
"""

import contextlib
import ctypes
import errno
import os
import threading
from typing import Final

from pfid.workers.mounts import MOUNTS, is_device_file_system, is_fuse

_CLONE_FILES: Final = 0x400
_WAIT_CLONE: Final = -0x80000000  # __WCLONE, as the signed int that waitpid takes
_STACK_BYTES: Final = 64 * 1024
STUCK_MAX: Final = 16
"""Processes that hang in a close; beyond them a descriptor is kept open rather than closed."""


class Closer:
    """Closes handed-over descriptors. For any thread."""

    def __init__(self) -> None:
        """Prepare; no process is started."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._lock = threading.Lock()
        self._closing: set[int] = set()
        self.kept = 0
        """Descriptors that were kept open because too many closes hang already."""

    def close(self, fd: int) -> None:
        """Close ``fd``; never blocks, never raises for what the file system answers."""
        with self._lock:
            if self._may_hang(fd):
                self._close_apart(fd)
                return
        with contextlib.suppress(OSError):
            os.close(fd)

    @property
    def stuck(self) -> int:
        """How many closes have not come back yet."""
        with self._lock:
            self._reap()
            return len(self._closing)

    def _may_hang(self, fd: int) -> bool:
        try:
            type_name = MOUNTS.type_of(fd)
            return is_fuse(type_name) or (not type_name and not is_device_file_system(fd))
        except OSError as error:  # out of descriptors to look with: assume the worst
            return error.errno != errno.EBADF

    def _close_apart(self, fd: int) -> None:
        self._reap()
        if len(self._closing) >= STUCK_MAX:
            self.kept += 1
            return
        stack = ctypes.create_string_buffer(_STACK_BYTES)
        top = ctypes.addressof(stack) + _STACK_BYTES & ~0xF
        # The new process runs libc's close(fd) and nothing of ours; it has its own copy of memory.
        pid = self._libc.clone(
            self._libc.close, ctypes.c_void_p(top), _CLONE_FILES, ctypes.c_void_p(fd)
        )
        if pid > 0:
            self._closing.add(pid)
        else:
            self.kept += 1

    def _reap(self) -> None:
        for pid in list(self._closing):
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG | _WAIT_CLONE)[0] == 0:
                    continue
            self._closing.discard(pid)


CLOSER: Final = Closer()
"""The process's own."""
