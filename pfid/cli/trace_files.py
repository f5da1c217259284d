"""Bytes of a trace file: plain, gzip or stdin, unpacked ahead in a thread of its own.

zlib lets go of the interpreter while it works, so unpacking costs no time beside reading.
"""

import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO, Final

BLOCK_BYTES: Final = 1 << 20
AHEAD_BLOCKS: Final = 4
HAND_OVER_S: Final = 0.0005
"""The thread that unpacks gets the interpreter back so soon; by default it would wait longer for
it than a block takes to unpack, and the reader would wait for the block."""
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = 31
_INPUT_BYTES: Final = 256 << 10


@dataclass(slots=True, kw_only=True)
class TraceBytes:
    """One file's bytes; ``broken`` tells why the compression ended early, once it has."""

    name: str
    broken: str | None = None

    def blocks(self) -> Iterator[bytes]:
        """Yield what can be read, to the end or to where the compression breaks.

        Raises:
            OSError: if the file cannot be opened or read.
        """
        if self.name == "-":
            yield from _ahead(self._unpacked(sys.stdin.buffer))
            return
        with Path(self.name).open("rb") as file:
            yield from _ahead(self._unpacked(file))

    def _unpacked(self, file: IO[bytes]) -> Iterator[bytes]:
        first = file.read(_INPUT_BYTES)
        if first.startswith(_GZIP_MAGIC):
            yield from self._gunzip(first, file)
            return
        while first:
            yield first
            first = file.read(BLOCK_BYTES)

    def _gunzip(self, data: bytes, file: IO[bytes]) -> Iterator[bytes]:
        """Yield members one after the other, as gunzip does; bytes behind the last are no error."""
        unpack = zlib.decompressobj(_GZIP_WINDOW)
        while data or not unpack.eof:
            try:
                block = unpack.decompress(data, BLOCK_BYTES)
            except zlib.error as problem:
                self.broken = f"the gzip data is damaged ({problem})"
                return
            if block:
                yield block
            data = unpack.unconsumed_tail
            if unpack.eof:
                data = (unpack.unused_data or file.read(_INPUT_BYTES)).lstrip(b"\0")
                if not data.startswith(_GZIP_MAGIC):
                    return
                unpack = zlib.decompressobj(_GZIP_WINDOW)
            elif not data:
                data = file.read(_INPUT_BYTES)
                if not data and not block:
                    self.broken = "the gzip file ends in its middle"
                    return


def _ahead(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Take blocks in a thread, a few at most in advance."""
    queue: Queue[bytes | Exception | None] = Queue(AHEAD_BLOCKS)
    wanted = [True]

    def work() -> None:
        try:
            for block in blocks:
                queue.put(block)
                if not wanted[0]:
                    return
        except Exception as problem:  # noqa: BLE001 - raised again where the blocks are taken
            queue.put(problem)
        else:
            queue.put(None)

    thread = Thread(target=work, name="unpack", daemon=True)
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(HAND_OVER_S)
    thread.start()
    try:
        while (item := queue.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item
    finally:
        sys.setswitchinterval(before_s)
        wanted[0] = False
        while thread.is_alive():
            while not queue.empty():
                queue.get_nowait()
            thread.join(0.01)
