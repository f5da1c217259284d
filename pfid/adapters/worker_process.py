"""Start one worker process: clean environment, own session, a socket pair and nothing else."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pfid.workers.channel import Channel
from pfid.workers.touch_cell import TouchCell

KEPT_ENVIRONMENT: Final = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "PATH",
    "PYTHONHOME",
    "PYTHONPATH",
    "TMPDIR",
    "TZ",
    "VIRTUAL_ENV",
)
"""All that a worker inherits. NOTIFY_SOCKET and LISTEN_FDS are the daemon's alone: a child that
holds them can speak for it (gpud#1232, sensu#1506)."""
OUTPUT_TAIL_BYTES: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCommand:
    """What to start.

    Attributes:
        module: run as ``python -m module SOCKET_FD CELL_FD``.
        arguments: further arguments, after those two.
        environment: added to the kept part of the owner's environment.
    """

    module: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def argv(self, socket_fd: int, cell_fd: int) -> list[str]:
        """Return the command line; ``-P`` keeps the working directory off the module path."""
        fds = (str(socket_fd), str(cell_fd))
        return [sys.executable, "-P", "-m", self.module, *fds, *self.arguments]


def clean_environment(inherited: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Return the kept part of ``inherited`` and all of ``added``."""
    kept = {name: inherited[name] for name in KEPT_ENVIRONMENT if name in inherited}
    return {**kept, **added}


class WorkerProcess:
    """One running worker, from start to reaping. For one thread, which must outlive it."""

    def __init__(self, command: WorkerCommand, max_frame_bytes: int) -> None:
        """Start it.

        Raises:
            OSError: if there is no memory, no process or no descriptor to be had.
        """
        with contextlib.ExitStack() as undo:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            undo.callback(theirs.close)
            self.channel = Channel(ours, max_frame_bytes)
            keep = undo.enter_context(contextlib.ExitStack())
            keep.callback(self.channel.close)
            self.cell = TouchCell.create()
            keep.callback(self.cell.close)
            self.output_fd, output_theirs = os.pipe2(os.O_CLOEXEC)
            undo.callback(os.close, output_theirs)
            keep.callback(os.close, self.output_fd)
            os.set_blocking(self.output_fd, False)
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                command.argv(theirs.fileno(), self.cell.fd),
                stdin=subprocess.DEVNULL,
                stdout=output_theirs,
                stderr=output_theirs,
                cwd="/",
                env=clean_environment(os.environ, command.environment),
                pass_fds=(theirs.fileno(), self.cell.fd),
                start_new_session=True,
            )
            keep.callback(self._kill_at_once)
            self.pidfd = os.pidfd_open(self._process.pid)
            keep.pop_all()
        self._output = bytearray()

    @property
    def pid(self) -> int:
        """The process id, ours until it is reaped."""
        return self._process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the worker's whole group, so that its own children go with it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _kill_at_once(self) -> None:
        self.signal(signal.SIGKILL)
        self._process.wait()

    def reap(self) -> int | None:
        """Return the status (negative for a signal) if the worker has ended, else None."""
        return self._process.poll()

    def drain_output(self) -> bool:
        """Read what the worker printed, keeping the tail; False once it has closed its end."""
        try:
            data = os.read(self.output_fd, 65536)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._output += data
        del self._output[:-OUTPUT_TAIL_BYTES]
        return bool(data)

    @property
    def output_tail(self) -> str:
        """The last of what it printed. Untrusted, may quote a log: for the operator alone."""
        return self._output.decode(errors="replace")

    def close(self) -> None:
        """Close channel, cell and output. The pidfd stays for whoever waits for an orphan."""
        self.channel.close()
        self.cell.close()
        os.close(self.output_fd)
