"""Starting a child behind a gate: it exists and is captured before it runs a line of its own.

The child waits on a pipe until its record is committed. A launcher that dies before that closes
the pipe, and the child goes without having started anything.
"""

import errno
import os
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pfid.domain.errors import ExecError

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
_GATE_NEVER_OPENED: Final = 125
_FIRST_LISTENING: Final = 3
_OPEN_MAX: Final = 4096
_RESTORED: Final = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores them at start; a program expects them as they are by default."""


def _exec_error(command: str, number: int) -> ExecError:
    code = NOT_FOUND if number == errno.ENOENT else NOT_EXECUTABLE
    return ExecError(f"cannot execute {command!r}: {os.strerror(number)}", code)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildStart:
    """How a child is to be started.

    Attributes:
        argv: the command; the first part is looked up in ``environ``'s PATH.
        environ: its whole environment.
        output: descriptor that becomes its stdout and stderr.
        signal_mask: the mask it starts with.
        default_signals: signals to set back to their default.
        terminal: descriptor of the terminal whose foreground it takes, None if it takes none.
    """

    argv: Sequence[str]
    environ: Mapping[str, str]
    output: int
    signal_mask: Iterable[int] = ()
    default_signals: Iterable[int] = ()
    terminal: int | None = None


class GatedChild:
    """A child that waits to be let go. Leads its own process group."""

    def __init__(self, pid: int, command: str, gate: int, report: int) -> None:
        """Take over both descriptors."""
        self.pid = pid
        self._command = command
        self._gate = gate
        self._report = report

    def release(self) -> None:
        """Let the child become its command.

        Raises:
            ExecError: if it cannot; the child is gone and reaped then.
        """
        try:
            with suppress(BrokenPipeError):
                os.write(self._gate, b"g")
            failure = os.read(self._report, 16)
        finally:
            self._close()
        if failure:
            os.waitpid(self.pid, 0)
            raise _exec_error(self._command, int(failure))

    def abandon(self) -> None:
        """Let the child go without having started; reaps it."""
        self._close()
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _close(self) -> None:
        os.close(self._gate)
        os.close(self._report)


def keep_listening_descriptors(environ: Mapping[str, str]) -> None:
    """Keep what systemd handed this very process from every child.

    Descriptors that somebody else opened for the command on purpose stay open for it.
    """
    count = environ.get("LISTEN_FDS", "")
    if environ.get("LISTEN_PID") == str(os.getpid()) and count.isascii() and count.isdigit():
        for descriptor in range(_FIRST_LISTENING, _FIRST_LISTENING + min(int(count), _OPEN_MAX)):
            with suppress(OSError):
                os.set_inheritable(descriptor, False)


def spawn_gated(start: ChildStart) -> GatedChild:
    """Fork a child that waits at its gate.

    Signals are expected to be blocked by the caller around this call, so that none is handled in
    the child by the launcher's rules.
    """
    gate_out, gate_in = os.pipe()
    report_out, report_in = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_the_child(start, gate_out, report_in, (gate_in, report_out))
    os.close(gate_out)
    os.close(report_in)
    with suppress(PermissionError, ProcessLookupError):
        os.setpgid(pid, pid)
    return GatedChild(pid, start.argv[0], gate_in, report_out)


def _be_the_child(start: ChildStart, gate: int, report: int, others: Iterable[int]) -> None:
    code = _GATE_NEVER_OPENED
    try:
        for descriptor in others:
            os.close(descriptor)
        os.setpgid(0, 0)
        if os.read(gate, 1):
            code = _execute(start, report)
    finally:
        os._exit(code)


def _execute(start: ChildStart, report: int) -> int:
    try:
        if start.terminal is not None:
            with suppress(OSError):
                os.tcsetpgrp(start.terminal, os.getpid())
        os.dup2(start.output, 1)
        os.dup2(start.output, 2)
        for number in (*_RESTORED, *start.default_signals):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, start.signal_mask)
        os.execvpe(start.argv[0], list(start.argv), dict(start.environ))  # noqa: S606
    except OSError as error:
        os.write(report, str(error.errno or errno.EINVAL).encode())
    except BaseException as error:  # noqa: BLE001 - nothing may run on in a forked child
        os.write(report, str(errno.EINVAL).encode())
        sys.stderr.write(f"pfid: {error}\n")
    return NOT_EXECUTABLE


def find_command(command: str, search_path: str | None) -> None:
    """See before anything is touched whether the command exists.

    Raises:
        ExecError: if it cannot be found or is not executable.
    """
    if "/" in command:
        places = [command]
    else:
        folders = (search_path if search_path is not None else os.defpath).split(os.pathsep)
        places = [os.path.join(folder, command) for folder in folders]  # noqa: PTH118 - "" is "."
    if any(os.access(place, os.X_OK) and not _is_folder(place) for place in places):
        return
    exists = any(_exists(place) for place in places)
    raise _exec_error(command, errno.EACCES if exists else errno.ENOENT)


def _is_folder(place: str) -> bool:
    return os.path.isdir(place)  # noqa: PTH112 - a plain string, as execvp(3) builds it


def _exists(place: str) -> bool:
    return os.path.exists(place)  # noqa: PTH110 - likewise
