"""Faults that take a machine: a file system whose files never answer; a reader to kill."""

import contextlib
import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # what the files here share

from following import FAST, Follower

MNT_DETACH = 2


class HostileFile:
    """A file on a FUSE mount of ours, and what the kernel asked of it."""

    def __init__(self, point: Path, mode: str, *, private: bool) -> None:
        self._requests_path = point.with_name(point.name + ".requests")
        self._point = point
        script = Path(__file__).with_name("fuse_stub.py")
        with self._requests_path.open("wb") as requests:
            self._server = subprocess.Popen(
                [sys.executable, script, point, mode, *(["private"] if private else [])],
                stdout=requests,
            )
        while "mounted" not in self.requests:
            assert self._server.poll() is None, "the stub could not mount"
        root = Path(f"/proc/{self._server.pid}/root") if private else Path("/")
        self.path = root / point.relative_to("/") / "log"
        self.fd = os.open(self.path, os.O_RDONLY)

    @property
    def requests(self) -> list[str]:
        return self._requests_path.read_text().split()

    def answer_with_errors(self) -> None:
        """End the server: what hung gets its answer."""
        self._server.kill()
        self._server.wait()

    def close(self) -> None:
        self.answer_with_errors()
        with contextlib.suppress(OSError):  # not connected any more
            os.close(self.fd)
        ctypes.CDLL(None).umount2(os.fsencode(self._point), MNT_DETACH)


@pytest.fixture
def hostile_file(tmp_path: Path) -> Iterator[Callable[..., HostileFile]]:
    with ExitStack() as opened:

        def make(mode: str, *, private: bool = False) -> HostileFile:
            point = tmp_path / f"mount-{len(list(tmp_path.iterdir()))}"
            point.mkdir()
            file = HostileFile(point, mode, private=private)
            opened.callback(file.close)
            return file

        yield make


@pytest.fixture
def follower() -> Iterator[Callable[..., Follower]]:
    """Make followers with a real reader each."""
    with ExitStack() as opened:

        def make(**options: Any) -> Follower:
            follower = Follower(**{"configure": FAST, **options})
            opened.callback(follower.close)
            return follower

        yield make
