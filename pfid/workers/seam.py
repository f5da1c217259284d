"""Tells a file that grew from one that was emptied and grew past our place between two looks.

The size alone cannot: after copytruncate, or a relaunch that opened the same file for writing, it
may already be larger than what we read. So the bytes just before our offset are compared, and only
if those and the head both changed is it another text: a page of a network file system may first
read as NULs and later as what it really holds.
"""

import zlib  # hashlib with OpenSSL would cost the reader five megabytes
from collections.abc import Callable
from typing import Any, Final, Self

TAIL_BYTES: Final = 32
HEAD_BYTES: Final = 256

ReadAt = Callable[[int, int], bytes]
"""``pread`` of one file: how many bytes, from which offset."""


class Seam:
    """What is remembered of one file; ``origin`` is where the first byte of ours stands.

    Of its head a checksum: the daemon keeps the state of each file of each rank.
    """

    __slots__ = ("_head_bytes", "_head_crc", "_origin", "_tail")

    def __init__(self, origin: int) -> None:
        """Remember nothing yet."""
        self._origin = origin
        self._head_bytes = self._head_crc = 0
        self._tail = b""

    def grew(self, chunk: bytes) -> None:
        """Take the next bytes of the file."""
        head = chunk[: HEAD_BYTES - self._head_bytes]
        if head:
            self._head_crc = zlib.crc32(head, self._head_crc)
            self._head_bytes += len(head)
        if len(chunk) >= TAIL_BYTES:
            self._tail = bytes(chunk[-TAIL_BYTES:])
        else:
            self._tail = (self._tail + chunk)[-TAIL_BYTES:]

    def holds(self, read_at: ReadAt, offset: int) -> bool:
        """Return whether the file still is the one whose bytes up to ``offset`` were taken."""
        if read_at(len(self._tail), offset - len(self._tail)) == self._tail:
            return True
        return self._head_holds(read_at)

    def is_copy(self, read_at: ReadAt, offset: int) -> bool:
        """Return whether another file begins as this one did up to ``offset``."""
        return (
            bool(self._tail)
            and read_at(len(self._tail), offset - len(self._tail)) == self._tail
            and self._head_holds(read_at)
        )

    def _head_holds(self, read_at: ReadAt) -> bool:
        found = read_at(self._head_bytes, self._origin)
        return len(found) == self._head_bytes and zlib.crc32(found) == self._head_crc

    def state(self) -> list[Any]:
        """Return plain data for ``restore``."""
        return [self._origin, [self._head_bytes, self._head_crc], self._tail]

    @classmethod
    def restore(cls, state: list[Any]) -> Self:
        """Go on from ``state``; one of an earlier version has the head itself.

        Raises:
            ValueError: if it is not what ``state`` returns; TypeError likewise.
        """
        origin, head, tail = state
        seam = cls(int(origin))
        if isinstance(head, bytes):
            seam.grew(head)
        else:
            seam._head_bytes, seam._head_crc = (int(number) for number in head)
        seam._tail = bytes(tail)[-TAIL_BYTES:]
        return seam
