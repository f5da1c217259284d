"""A short-lived program of somebody else's: a deadline, bounded output, and nothing left behind.

Started without a shell, in a session of its own, with nothing on stdin. What it starts dies with
it. Made of ``posix_spawn`` alone: the launcher pays for every module it loads.
"""

import fcntl
import os
import select
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from threading import Event
from types import TracebackType
from typing import Final, Self

from msgspec import Struct

from pfid.domain.errors import PfidError

TERM_S: Final = 2.0
"""Between asking and killing: it may hold a GPU."""
TAIL_BYTES: Final = 4_000
LOOK_S: Final = 0.25
"""How long one that waits may not notice that all are to end."""
_PIPE_BYTES: Final = 65_536
ANSWER_FD: Final = 3
_NOT_INHERITED: Final = frozenset({"NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"})


_over: Final = Event()


def end_all() -> None:
    """End every program that a thread of this process waits for, and each that it starts later.

    For a process that is about to end: a thread that waits for a test suite is not to be waited
    for when somebody pressed Ctrl-C.
    """
    _over.set()


class CannotStartError(PfidError):
    """A program cannot be started; ``missing`` if there is none of that name."""

    def __init__(self, program: str, error: OSError) -> None:
        """Say why in the system's own words."""
        super().__init__(f"{program} cannot be started: {error.strerror}")
        self.missing = isinstance(error, FileNotFoundError)


class Finished(Struct, frozen=True, kw_only=True):
    """How it went.

    Attributes:
        exit_code: its status; None if a signal ended it.
        signal: the signal that ended it.
        hung: it was ended because its time was over.
        overflowed: it was ended because it said more than it may.
        out: its stdout, or its answer where it has a descriptor for that.
        tail: the end of its other output.
    """

    exit_code: int | None
    signal: int | None
    hung: bool
    overflowed: bool
    out: bytes
    tail: bytes

    def last_line(self) -> str:
        """The last line of its other output that says something."""
        lines = self.tail.decode(errors="replace").strip().splitlines()
        return lines[-1].strip() if lines else ""


class BoundedProcess:
    """A program under a deadline. Leave its context, and it is gone."""

    def __init__(
        self,
        argv: Sequence[str],
        environ: Mapping[str, str],
        *,
        deadline_s: float,
        out_max_bytes: int,
        answers: bool = False,
    ) -> None:
        """Start it.

        Args:
            argv: an absolute path first.
            environ: its environment.
            deadline_s: seconds from now.
            out_max_bytes: so much of ``out`` is taken.
            answers: whether it writes its answer to ``ANSWER_FD``, which then becomes ``out``,
                while stdout is other output.

        Raises:
            CannotStartError: if it cannot be started.
        """
        _keep_statuses()
        self._until_s = time.monotonic() + deadline_s
        self._out_max_bytes = out_max_bytes
        self._finished: Finished | None = None
        self._out, out_end = _pipe()
        self._other, other_end = _pipe()
        moves: list[tuple[int, int]] = [(other_end, 2)]
        moves += [(other_end, 1), (out_end, ANSWER_FD)] if answers else [(out_end, 1)]
        try:
            self._pid = os.posix_spawn(
                argv[0],
                list(argv),
                {name: value for name, value in environ.items() if name not in _NOT_INHERITED},
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    *((os.POSIX_SPAWN_DUP2, source, target) for source, target in moves),
                ],
                setsid=True,
                setsigmask=(),
                setsigdef=(signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM),
            )
        except OSError as error:
            os.close(self._out)
            os.close(self._other)
            raise CannotStartError(argv[0], error) from error
        finally:
            os.close(out_end)
            os.close(other_end)
        self._pidfd = os.pidfd_open(self._pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._finished is None:
            self._end(polite=False)

    def finish(self) -> Finished:
        """Take what it says until it ends, its time is over, or it says too much."""
        if self._finished is None:
            out, tail, hung = self._read()
            overflowed = len(out) > self._out_max_bytes
            status = self._end(polite=hung or overflowed)
            code = os.waitstatus_to_exitcode(status)
            self._finished = Finished(
                exit_code=code if code >= 0 else None,
                signal=-code if code < 0 else None,
                hung=hung,
                overflowed=overflowed,
                out=bytes(out[: self._out_max_bytes]),
                tail=bytes(tail),
            )
        return self._finished

    def _read(self) -> tuple[bytearray, bytearray, bool]:
        """Read until it has ended; a grandchild that keeps its pipes open is not waited for."""
        out, tail = bytearray(), bytearray()
        pipes = {self._out: out, self._other: tail}
        ended = False
        while not ended and len(out) <= self._out_max_bytes:
            left_s = self._until_s - time.monotonic()
            if left_s <= 0 or _over.is_set():
                return out, tail, True
            ready = _ready((*pipes, self._pidfd), min(left_s, LOOK_S))
            ended = self._pidfd in ready
            # A pipe holds no more than one reading: at the end, one empties it.
            for descriptor in [pipe for pipe in pipes if ended or pipe in ready]:
                if not _took(descriptor, pipes[descriptor]):
                    del pipes[descriptor]
            del tail[:-TAIL_BYTES]
        return out, tail, False

    def _end(self, *, polite: bool) -> int:
        """End it with all that it started; its wait status."""
        if polite:
            self._signal(signal.SIGTERM)
            _ready((self._pidfd,), TERM_S)
        self._signal(signal.SIGKILL)
        status = os.waitpid(self._pid, 0)[1]
        for descriptor in (self._out, self._other, self._pidfd):
            os.close(descriptor)
        return status

    def _signal(self, number: int) -> None:
        """Signal its whole group, which cannot be another's while it is not reaped."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)


def _keep_statuses() -> None:
    """Under a parent that ignored SIGCHLD the kernel would reap children, and their status be lost.

    The pid of one that is reaped already may be another's by the time it is signalled.
    """
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _pipe() -> tuple[int, int]:
    """A pipe whose ends stand above every descriptor that a child is given."""
    ends = os.pipe2(os.O_CLOEXEC)
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, ANSWER_FD + 1) for end in ends]
    for end in ends:
        os.close(end)
    os.set_blocking(moved[0], False)
    return moved[0], moved[1]


def _ready(descriptors: Iterable[int], wait_s: float) -> set[int]:
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(wait_s * 1_000 + 1)}


def _took(descriptor: int, into: bytearray) -> bool:
    """Read what is there; False at its end."""
    try:
        chunk = os.read(descriptor, _PIPE_BYTES)
    except BlockingIOError:
        return True
    into += chunk
    return bool(chunk)


def run_bounded(
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    deadline_s: float,
    out_max_bytes: int = 1 << 24,
) -> Finished:
    """Run a program to its end.

    Raises:
        CannotStartError: if it cannot be started.
    """
    with BoundedProcess(
        argv, environ, deadline_s=deadline_s, out_max_bytes=out_max_bytes
    ) as process:
        return process.finish()


def found_program(name: str, environ: Mapping[str, str], folder: str) -> str | None:
    """Path of a program as ``exec`` would find it; None if there is none."""
    if "/" in name:
        path = os.path.join(folder, name)  # noqa: PTH118 - a plain string
        return path if os.path.exists(path) else None  # noqa: PTH110 - pathlib costs more
    for place in environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder, place, name)  # noqa: PTH118
        if os.access(path, os.X_OK) and not os.path.isdir(path):  # noqa: PTH112
            return path
    return None
