"""Notices that a followed file was renamed or unlinked, from our own descriptor's link.

The name itself never leaves this module, not even in the state: a checksum does.
"""

import os  # pathlib would cost the reader half a megabyte, hashlib with OpenSSL five
import zlib
from typing import Any, Final

CHECK_EVERY_S: Final = 5.0


class LinkName:
    """What the link of a descriptor said first, and whether it says so still."""

    __slots__ = ("_checked_s", "_checksum", "_fd", "_namespace", "moved")

    def __init__(self, fd: int, state: Any = None) -> None:
        """Remember the name, or go on from ``state``.

        A state of another mount namespace is passed over: there the same file has another name.

        Raises:
            OSError: if the link cannot be read.
        """
        self._fd = fd
        self._namespace = os.stat("/proc/self/ns/mnt").st_ino  # noqa: PTH116 - see above
        self._checked_s = 0.0
        self.moved = False
        """Whether the file moved or was unlinked since."""
        known = isinstance(state, list | tuple) and len(state) == 2 and state[0] == self._namespace
        self._checksum = int(state[1]) if known else self._read()

    def look(self, now_s: float, *, unlinked: bool) -> bool:
        """Look again, the link at most every few seconds; return whether ``moved`` changed.

        Raises:
            OSError: if the link cannot be read.
        """
        before = self.moved
        if unlinked:
            self.moved = True
        elif now_s - self._checked_s >= CHECK_EVERY_S:
            self._checked_s = now_s
            self.moved = self._read() != self._checksum
        return self.moved is not before

    def state(self) -> list[Any]:
        """Return plain data for the constructor."""
        return [self._namespace, self._checksum]

    def _read(self) -> int:
        name = os.readlink(f"/proc/self/fd/{self._fd}")  # noqa: PTH115 - see above
        return zlib.crc32(os.fsencode(name))
