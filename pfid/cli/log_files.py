"""Logs as a command line names them: a path, a gzip file, or ``-`` for stdin."""

import gzip
import sys
from pathlib import Path
from typing import IO, Final

BLOCK_BYTES: Final = 256 * 1024
LONG_BYTES: Final = 32 * 1024 * 1024
_GZIP_MAGIC: Final = b"\x1f\x8b"


class LogFile:
    """Bytes of a log in order, and how far along they are."""

    def __init__(self, name: str, raw: IO[bytes], size_bytes: int | None) -> None:
        """Read ``raw``, through gzip if it begins like that."""
        self.name = name
        self.size_bytes = size_bytes
        self._raw = raw
        zipped = size_bytes is not None and raw.read(2) == _GZIP_MAGIC
        if size_bytes is not None:
            raw.seek(0)
        self._bytes: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=raw) if zipped else raw

    @property
    def long(self) -> bool:
        """Whether reading takes long enough to show how far it is."""
        return (self.size_bytes or 0) >= LONG_BYTES

    @property
    def position(self) -> int:
        """Bytes of the file consumed."""
        return self._raw.tell() if self.size_bytes is not None else 0

    def read(self, size_bytes: int) -> bytes:
        """Return the next bytes, empty at the end.

        Raises:
            OSError: if the file or its compression is broken.
        """
        return self._bytes.read(size_bytes)

    def close(self) -> None:
        """Close what was opened; stdin stays open."""
        if self.size_bytes is not None:
            self._raw.close()


def open_log(name: str) -> LogFile:
    """Open a log.

    Raises:
        OSError: if it cannot be opened, is a directory, or is not seekable as a file.
    """
    if name == "-":
        return LogFile("stdin", sys.stdin.buffer, None)
    path = Path(name)
    raw = path.open("rb")
    if not raw.seekable():
        return LogFile(name, raw, None)
    return LogFile(name, raw, path.stat().st_size)
