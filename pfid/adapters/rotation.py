"""Carrying out a rotation plan on a real file system: renames that never replace a name."""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from pfid.domain.errors import LaunchError, NameTakenError
from pfid.policy.rotation import (
    Adopt,
    Discard,
    LogKind,
    LogSeen,
    Move,
    Prepare,
    Publish,
    Step,
    belongs_beside,
)

_RENAME_NOREPLACE: Final = 1
_AT_FDCWD: Final = -100
_FLAG_REFUSED: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP})
_NEW_FILE: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_STANDING_FILE: Final = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def observe_log(path: Path) -> LogSeen:
    """Look at what stands at a log's path.

    Raises:
        LaunchError: if its folder does not exist or may not be searched.
    """
    try:
        folder = path.parent.resolve(strict=True)
        kind = _kind(folder / path.name)
    except OSError as error:
        raise LaunchError(
            f"log {path}: {error.strerror} ({path.parent}); give a folder that exists and is yours"
        ) from error
    return LogSeen(
        folder=str(folder), name=path.name, kind=kind, neighbours=_neighbours(folder, path.name)
    )


def _kind(path: Path) -> LogKind:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return LogKind.ABSENT
    if stat.S_ISLNK(found.st_mode):
        return LogKind.SYMLINK
    if stat.S_ISDIR(found.st_mode):
        return LogKind.DIRECTORY
    if not stat.S_ISREG(found.st_mode):
        return LogKind.SPECIAL
    return LogKind.CONTENT if found.st_size else LogKind.EMPTY


def _neighbours(folder: Path, name: str) -> frozenset[str]:
    try:
        return frozenset(
            entry.name for entry in folder.iterdir() if belongs_beside(name, entry.name)
        )
    except PermissionError:  # searchable but not listable: renames will tell what is taken
        return frozenset()


class LogRotator:
    """Carries out one plan; what it did can be taken back as long as no child was started."""

    def __init__(self) -> None:
        """Nothing is done yet."""
        self._undo: list[Callable[[], None]] = []
        self._descriptor: int | None = None

    def carry_out(self, steps: Sequence[Step]) -> int | None:
        """Do all steps or none.

        Returns:
            The new log, open for appending (close-on-exec), or None if the plan makes none.

        Raises:
            NameTakenError: if a name was taken meanwhile; all was taken back.
            LaunchError: if a step fails; all was taken back.
        """
        for step in steps:
            try:
                self.carry_out_one(step)
            except OSError as error:
                self.take_back()
                raise _in_words(step, error) from error
            except BaseException:
                self.take_back()
                raise
        descriptor, self._descriptor = self._descriptor, None
        return descriptor

    def carry_out_one(self, step: Step) -> None:
        """Do one step.

        Raises:
            OSError: if the file system refuses it.
        """
        match step:
            case Discard():
                Path(step.path).unlink(missing_ok=True)
            case Prepare():
                self._prepare(step)
            case Adopt():
                self._adopt(step)
            case Move() | Publish():
                rename_without_replacing(step.source, step.target)
                self._undo.append(lambda: rename_without_replacing(step.target, step.source))

    def _prepare(self, step: Prepare) -> None:
        self._descriptor = os.open(step.path, _NEW_FILE, 0o666)
        self._undo.append(lambda: Path(step.path).unlink(missing_ok=True))
        _write_all(self._descriptor, step.text)

    def _adopt(self, step: Adopt) -> None:
        descriptor = os.open(step.path, _STANDING_FILE)
        self._descriptor = descriptor
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size:
            raise FileExistsError(errno.EEXIST, "it is not empty any more", step.path)
        self._undo.append(lambda: os.truncate(step.path, 0))
        _write_all(descriptor, step.text)

    def take_back(self) -> None:
        """Undo in reverse order, as far as the file system lets us."""
        while self._undo:
            with suppress(OSError):
                self._undo.pop()()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _write_all(descriptor: int, text: str) -> None:
    left = memoryview(text.encode())
    while left:
        left = left[os.write(descriptor, left) :]


def _in_words(step: Step, error: OSError) -> LaunchError:
    path = step.path if isinstance(step, Discard | Prepare | Adopt) else step.source
    if error.errno == errno.EEXIST:
        return NameTakenError(f"{error.filename2 or error.filename or path} was taken meanwhile")
    verb = "rename" if isinstance(step, Move | Publish) else "write"
    return LaunchError(
        f"cannot {verb} {path}: {error.strerror}; nothing was lost, the log stands as it was"
    )


def rename_without_replacing(source: str, target: str) -> None:
    """Rename; an existing target is never replaced, whoever made it and when.

    Where the file system does not know the flag, an empty file of our own reserves the name.

    Raises:
        FileExistsError: if the target exists.
        OSError: as rename(2).
    """
    number = _renameat2(source, target)
    if number in _FLAG_REFUSED:
        _reserve_and_rename(source, target)
    elif number:
        raise OSError(number, os.strerror(number), source, None, target)


def _renameat2(source: str, target: str) -> int:
    import ctypes

    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:  # an older C library
        return errno.ENOSYS
    done = function(
        _AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), _RENAME_NOREPLACE
    )
    return ctypes.get_errno() if done else 0


def _reserve_and_rename(source: str, target: str) -> None:
    Path(source).lstat()
    os.close(os.open(target, _NEW_FILE, 0o600))
    try:
        Path(source).rename(target)
    except OSError:
        Path(target).unlink()
        raise
