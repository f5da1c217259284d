"""What runs leave to later ones of the same name: one small file a name, for one user.

An embedded engine's state goes with its run; its step times must outlive it. A line is appended in
one write, and one that cannot be read is passed over; of lines of the same run the last counts.
Whoever writes holds a lock on the file, so that nothing is lost where one makes it shorter while
another appends. Not sqlite: homes lie on NFS.
"""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from pfid.domain.names import slug
from pfid.policy.baseline import EarlierRun, newest_of_each

KEPT: Final = 32
"""Runs of one fingerprint that are kept, of those that can be gone by."""
FULL_BYTES: Final = 64 * 1024
"""From this size on a file is made shorter."""
LOCK_TRIES: Final = 8
_NO_LOCKS: Final = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
"""A file system that has no locks still takes a line in one write."""


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    fingerprint: str
    left: EarlierRun


class RunHistory:
    """Appends and reads."""

    def __init__(self, folder: Path) -> None:
        """Keep below ``folder``, which is made when needed."""
        self._folder = folder

    def add(self, name: str, fingerprint: str, left: EarlierRun) -> str:
        """Remember a run; returns why it could not be remembered, "" if it was."""
        line = msgspec.json.encode(_Line(name=name, fingerprint=fingerprint, left=left))
        file = self._file(name)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _locked(file) as fd:
                _append(fd, line)
                if os.fstat(fd).st_size > FULL_BYTES:
                    self._shorten(file)
        except OSError as error:
            return f"history of {slug(name)} cannot be kept in {self._folder}: {error.strerror}"
        return ""

    def find(self, name: str, fingerprint: str) -> tuple[EarlierRun, ...]:
        """Runs of the same name and fingerprint that can be gone by, newest last."""
        lines = (line for line in _read(self._file(name)) if line.name == name)
        of_work = newest_of_each(line.left for line in lines if line.fingerprint == fingerprint)
        return _usable(of_work)

    def _file(self, name: str) -> Path:
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        return self._folder / f"{slug(name)}-{digest}.jsonl"

    def _shorten(self, file: Path) -> None:
        """Keep what would be found; of works that are many, those of the newest runs."""
        by_work: dict[tuple[str, str], list[EarlierRun]] = {}
        for line in _read(file):
            work = (line.name, line.fingerprint)
            runs = by_work.pop(work, [])  # the work of the newest run comes last
            by_work[work] = [*runs, line.left]
        kept: list[bytes] = []
        size = 0
        for (name, fingerprint), runs in reversed(by_work.items()):
            for left in reversed(_usable(newest_of_each(runs))):
                text = msgspec.json.encode(_Line(name=name, fingerprint=fingerprint, left=left))
                size += len(text) + 1
                if size > FULL_BYTES // 2:
                    break
                kept.append(text)
        fresh = file.with_suffix(f".{os.getpid()}.new")
        with contextlib.suppress(OSError):
            fresh.write_bytes(b"".join(text + b"\n" for text in reversed(kept)))
            fresh.replace(file)


def _usable(runs: Iterable[EarlierRun]) -> tuple[EarlierRun, ...]:
    return tuple(r for r in runs if r.passed)[-KEPT:]


def _append(fd: int, line: bytes) -> None:
    """Write a line that begins anew: what a full disk cut off earlier costs no line but itself.

    Raises:
        OSError: if it does not take all of it.
    """
    if os.write(fd, b"\n" + line + b"\n") < len(line) + 2:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[int]:
    """Open to append, alone; again where another made it shorter meanwhile.

    Raises:
        OSError: if it cannot be opened.
    """
    for _ in range(LOCK_TRIES):
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            _lock(fd)
            if _same_file(fd, file):
                yield fd
                return
        finally:
            os.close(fd)
    raise OSError(errno.EAGAIN, "others keep replacing it")


def _lock(fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def _same_file(fd: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), file.stat())
    except FileNotFoundError:
        return False


def _read(file: Path) -> list[_Line]:
    try:
        texts = file.read_bytes().splitlines()
    except OSError:
        return []
    return [line for text in texts if (line := _line(text)) is not None]


def _line(text: bytes) -> _Line | None:
    try:
        return msgspec.json.decode(text, type=_Line)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
        return None
