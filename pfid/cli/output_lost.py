"""What a command does whose output nobody takes: a full disk, a reader that left.

Every command prints through ``sys.stdout``, some through click, some through rich. Both make their
own of an error there (click exits with 1, which means that a check failed; rich likewise), so it is
turned into one of pfid's where it arises.
"""

import errno
import io
import os
import signal
import sys
from contextlib import suppress
from typing import Any, Final

from pfid.cli.exit_codes import Exit
from pfid.domain.errors import PfidError

READER_LEFT: Final = 128 + signal.SIGPIPE
"""As of any program that writes into a pipe whose reader left."""
_STDIN, _STDOUT, _STDERR = 0, 1, 2
_LAYERS: Final = (io.BufferedWriter, io.FileIO)


class OutputLostError(PfidError):
    """What was printed on stdout did not get there."""

    def __init__(self, problem: OSError) -> None:
        """Take what the system said."""
        super().__init__(f"stdout cannot be written: {problem.strerror}")
        self._reader_left = problem.errno == errno.EPIPE

    def settle(self) -> int:
        """Say it where anybody is to be told, write nothing more; the exit status it comes to.

        What stays in the buffer would be tried again at exit, and end in another status.
        """
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device
            os.dup2(nowhere.fileno(), _STDOUT)
        if self._reader_left:
            return READER_LEFT
        with suppress(OSError):
            os.write(_STDERR, f"pfid: {self}\n".encode(errors="replace"))
        return Exit.UNKNOWN


class _Stdout(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as problem:
            raise OutputLostError(problem) from problem


class _Stderr(io.FileIO):
    """A note that cannot be said ends nothing."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def guard_output() -> None:
    """Have what cannot be written end as above, where the streams are the process's own."""
    _fill_gaps()
    if _is_plain(sys.stdout):
        sys.stdout = _over(_Stdout(_STDOUT, "wb", closefd=False), sys.stdout)
    if _is_plain(sys.stderr):
        sys.stderr = _over(_Stderr(_STDERR, "wb", closefd=False), sys.stderr)


def _fill_gaps() -> None:
    """Put nothing where a standard stream was closed, before a file of ours gets its number."""
    for number in (_STDIN, _STDOUT, _STDERR):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    sys.stdin = sys.stdin or open(_STDIN, closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(_STDOUT, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(_STDERR, "w", closefd=False, encoding="utf-8")  # noqa: SIM115


def is_ours(stream: Any) -> bool:
    """Whether it is one of this process's own, guarded, and not what a test put there."""
    buffer = getattr(stream, "buffer", None)
    return isinstance(getattr(buffer, "raw", buffer), (_Stdout, _Stderr))


def _is_plain(stream: Any) -> bool:
    """Whether it is as the interpreter made it, and not what a test put there."""
    return type(stream) is io.TextIOWrapper and isinstance(stream.buffer, _LAYERS)


def _over(raw: io.FileIO, like: Any) -> io.TextIOWrapper:
    buffered = isinstance(like.buffer, io.BufferedWriter)  # not under PYTHONUNBUFFERED
    return io.TextIOWrapper(
        io.BufferedWriter(raw) if buffered else raw,
        encoding=like.encoding,
        errors=like.errors,
        line_buffering=like.line_buffering,
        write_through=like.write_through,
    )
