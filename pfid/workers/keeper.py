"""Stands between a trial and the engine it starts, so that nothing of it outlives the trial.

``keeper.py SOCKET GRACE_S COMMAND…``: becomes the one to whom every orphan below it falls, so that
a daemon that left tree, group, session and environment behind is still its own. It ends all of them
when it is asked to end, when the engine fails, or when the other end of the socket is closed: the
kernel does that for a pfid that was killed. Then it ends as the engine ended.

Started by its path, and with the standard library alone: it takes no part in anything else.
"""

import ctypes
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_ROUND_S: Final = 0.05
_KILL_WAIT_S: Final = 10.0
_ASKED: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_RESTORED: Final = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores them at start; a program expects them as they are by default."""
BACKGROUND: Final = b"b"
"""What it says when the command ended well and left something behind."""
_CANNOT_EXECUTE: Final = 126


class Keeper:
    """Keeps one command."""

    def __init__(self, channel: socket.socket, grace_s: float) -> None:
        """Start nothing yet.

        Args:
            channel: closed at the other end when all shall end.
            grace_s: between asking them and killing them.
        """
        self._channel, self._grace_s = channel, grace_s
        self._root = 0
        self._status: int | None = None
        self._asked = False
        self._before: Mapping[int, object] = {}
        self._woken, self._wake = os.pipe()

    def run(self, command: list[str]) -> int:
        """Start the command and see it and all that it leaves behind to their end.

        Returns:
            Its status, as ``wait`` gives it.
        """
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        for end in (self._woken, self._wake):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        numbers = (*_ASKED, signal.SIGCHLD)
        self._before = {number: signal.signal(number, self._note) for number in numbers}
        self._root = os.fork()
        if self._root == 0:
            self._become(command)
        self._watch()
        self._end_all()
        return self._status or 0

    def _note(self, number: int, _: object) -> None:
        self._asked = self._asked or number in _ASKED

    def _become(self, command: list[str]) -> NoReturn:
        """In the child: the engine, as if nobody stood between."""
        code = _CANNOT_EXECUTE
        try:
            signal.set_wakeup_fd(-1)
            for number, was in self._before.items():
                signal.signal(number, was)  # type: ignore[arg-type]
            for number in _RESTORED:
                signal.signal(number, signal.SIG_DFL)
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            os.execvpe(command[0], command, _given_environ())  # noqa: S606
        except OSError as error:
            sys.stderr.write(f"cannot execute {command[0]!r}: {error.strerror}\n")
        finally:
            os._exit(code)

    def _watch(self) -> None:
        """Until all have ended, or shall end."""
        said = False
        while self._reap():
            if self._asked or self._is_closed() or self._failed():
                return
            if self._status is not None and not said:
                said = True
                with suppress(OSError):
                    self._channel.send(BACKGROUND)
            select.select([self._channel.fileno(), self._woken], [], [], 1.0)
            with suppress(BlockingIOError):
                os.read(self._woken, 512)

    def _failed(self) -> bool:
        return bool(self._status)

    def _is_closed(self) -> bool:
        try:
            return self._channel.recv(1, socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _reap(self) -> bool:
        """Take what has ended; whether anything is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._root:
                self._status = status

    def _end_all(self) -> None:
        """Ask the command first, then what is left, then kill."""
        until_s = time.monotonic() + self._grace_s
        if self._status is None:
            _signal([self._root], signal.SIGTERM)
            self._wait_until(until_s, for_root=True)
        _signal(below(os.getpid()), signal.SIGTERM)
        self._wait_until(until_s)
        until_s = time.monotonic() + _KILL_WAIT_S
        while self._reap() and time.monotonic() < until_s:
            _signal(below(os.getpid()), signal.SIGKILL)
            time.sleep(_ROUND_S)

    def _wait_until(self, until_s: float, *, for_root: bool = False) -> None:
        while self._reap() and time.monotonic() < until_s:
            if for_root and self._status is not None:
                return
            time.sleep(_ROUND_S)


def below(pid: int) -> list[int]:
    """Everything that descends from a process, by procfs."""
    children: dict[int, list[int]] = {}
    for child, parent in _parents():
        children.setdefault(parent, []).append(child)
    found, waiting = [], [pid]
    while waiting:
        nearest = children.pop(waiting.pop(), [])
        found += nearest
        waiting += nearest
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                stat = (entry / "stat").read_bytes()
                yield int(entry.name), int(stat.rpartition(b") ")[2].split()[1])


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _given_environ() -> dict[bytes, bytes]:
    """As it was given: starting Python may have added to what ``os.environ`` shows."""
    given = Path("/proc/self/environ").read_bytes().split(b"\0")
    pairs = (entry.partition(b"=") for entry in given)
    return {name: value for name, equals, value in pairs if equals}


def end_as(status: int) -> NoReturn:
    """End as another process ended: by its signal, or with its exit status."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with suppress(OSError, ValueError):  # SIGKILL has no handler to be set back
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else _CANNOT_EXECUTE)


def main(argv: list[str]) -> NoReturn:
    """Keep a command."""
    descriptor, grace_s, *command = argv
    channel = socket.socket(fileno=int(descriptor))
    channel.set_inheritable(False)
    end_as(Keeper(channel, float(grace_s)).run(command))


if __name__ == "__main__":
    main(sys.argv[1:])
