"""The file of a ledger, changed by one at a time and never left half written."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pfid.domain.errors import ConfigError, PfidError


class LedgerFileError(PfidError):
    """A ledger cannot be read or written."""


def rewrite(path: Path, change: Callable[[str], str], *, new: bool = False) -> None:
    """Replace a ledger by what ``change`` makes of its text.

    A link is followed: the file it names is replaced.

    Args:
        path: of the ledger.
        change: told its text, "" if there is none; what it raises leaves everything as it was.
        new: whether there must be none yet.

    Raises:
        ConfigError: if it is there and must not be, or cannot be written as a new one.
        LedgerFileError: if it cannot be read or written.
    """
    try:
        path = path.resolve()
        with _alone(path.parent):
            there = os.path.lexists(path)
            if there and new:
                raise ConfigError((f"{path}: is there already; nothing was written",))
            if there and not path.is_file():
                raise LedgerFileError(f"{path} is no file")
            text = path.read_bytes().decode() if there else ""
            _replace(path, change(text).encode(), path.stat().st_mode & 0o7777 if there else None)
    except UnicodeDecodeError as error:
        raise LedgerFileError(f"{path} is not UTF-8") from error
    except (OSError, RuntimeError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        if new:
            raise ConfigError((f"{path}: cannot be written: {said}",)) from error
        raise LedgerFileError(f"{path} cannot be written: {said}") from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder: the file itself is another one after each change."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _replace(path: Path, body: bytes, mode: int | None) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with draft.open("xb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise
