"""Tells a file that grew from one that was emptied and grew past our place between two looks.

The size alone cannot: after copytruncate, or a relaunch that opened the same file for writing, it
may already be larger than what we read. So the bytes just before our offset are compared, and only
if those and the head both changed is it another text: a page of a network file system may first
read as NULs and later as what it really holds.
"""

from collections.abc import Callable
from typing import Any, Final, Self

TAIL_BYTES: Final = 32
HEAD_BYTES: Final = 256

ReadAt = Callable[[int, int], bytes]
"""``pread`` of one file: how many bytes, from which offset."""


class Seam:
    """The bytes remembered of one file; ``origin`` is where the first of ours stands."""

    __slots__ = ("_head", "_origin", "_tail")

    def __init__(self, origin: int) -> None:
        """Remember nothing yet."""
        self._origin = origin
        self._head = b""
        self._tail = b""

    def grew(self, chunk: bytes) -> None:
        """Take the next bytes of the file."""
        if len(self._head) < HEAD_BYTES:
            self._head += chunk[: HEAD_BYTES - len(self._head)]
        if len(chunk) >= TAIL_BYTES:
            self._tail = bytes(chunk[-TAIL_BYTES:])
        else:
            self._tail = (self._tail + chunk)[-TAIL_BYTES:]

    def holds(self, read_at: ReadAt, offset: int) -> bool:
        """Return whether the file still is the one whose bytes up to ``offset`` were taken."""
        if read_at(len(self._tail), offset - len(self._tail)) == self._tail:
            return True
        return read_at(len(self._head), self._origin) == self._head

    def is_copy(self, read_at: ReadAt, offset: int) -> bool:
        """Return whether another file begins as this one did up to ``offset``."""
        return (
            bool(self._tail)
            and read_at(len(self._tail), offset - len(self._tail)) == self._tail
            and read_at(len(self._head), self._origin) == self._head
        )

    def state(self) -> list[Any]:
        """Return plain data for ``restore``."""
        return [self._origin, self._head, self._tail]

    @classmethod
    def restore(cls, state: list[Any]) -> Self:
        """Go on from ``state``.

        Raises:
            ValueError: if it is not what ``state`` returns; TypeError likewise.
        """
        origin, head, tail = state
        seam = cls(int(origin))
        seam._head, seam._tail = bytes(head)[:HEAD_BYTES], bytes(tail)[-TAIL_BYTES:]
        return seam
