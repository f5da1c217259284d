"""What ended runs leave to later ones of the same name: one small file a name, for one user.

An embedded engine's state goes with its run; its step times must outlive it. A line is appended in
one write, so engines that end at once do not disturb each other, and a line that cannot be read is
passed over. Not sqlite: homes lie on NFS.
"""

import contextlib
import os
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from pfid.domain.names import slug
from pfid.policy.baseline import EarlierRun

KEPT: Final = 32
FULL_BYTES: Final = 64 * 1024


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
        line = msgspec.json.encode(_Line(name=name, fingerprint=fingerprint, left=left)) + b"\n"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = self._file(name)
            fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, line)
            finally:
                os.close(fd)
            if file.stat().st_size > FULL_BYTES:
                self._shorten(file)
        except OSError as error:
            return f"history of {slug(name)} cannot be kept: {error.strerror}"
        return ""

    def find(self, name: str, fingerprint: str) -> tuple[EarlierRun, ...]:
        """Runs of the same name and fingerprint, newest last."""
        lines = [_read(text) for text in self._lines(self._file(name))]
        return tuple(
            line.left
            for line in lines
            if line is not None and (line.name, line.fingerprint) == (name, fingerprint)
        )[-KEPT:]

    def _file(self, name: str) -> Path:
        digest = sha256(name.encode()).hexdigest()[:12]
        return self._folder / f"{slug(name)}-{digest}.jsonl"

    def _lines(self, file: Path) -> list[bytes]:
        try:
            return file.read_bytes().splitlines()
        except OSError:
            return []

    def _shorten(self, file: Path) -> None:
        fresh = file.with_suffix(f".{os.getpid()}.new")
        with contextlib.suppress(OSError):
            fresh.write_bytes(b"".join(line + b"\n" for line in self._lines(file)[-KEPT:]))
            fresh.replace(file)


def _read(text: bytes) -> _Line | None:
    try:
        return msgspec.json.decode(text, type=_Line)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
        return None
