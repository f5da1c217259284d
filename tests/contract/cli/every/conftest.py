"""Every command that does something, an example of each, and a quick way to really run them."""

import json
import os
import pty
import select
import socket
import subprocess
import sys
import termios
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # what the files here share

from examples import write_world

HERE = Path(__file__).parent

STUCK_S = 60


@dataclass(frozen=True)
class Done:
    """What a command came to; on a terminal ``out`` holds both streams."""

    code: int
    out: str
    err: str
    interrupted: bool = False

    def sound(self):
        """Nothing of it is a trace."""
        assert "Traceback" not in self.out + self.err, self.out + self.err
        return self


class Pfid:
    """Asks the process that forks."""

    def __init__(self, world):
        self.world = world
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(STUCK_S)
        self._peer = ours
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(HERE / "forking_pfid.py"), str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        theirs.close()
        assert ours.recv(100) == b"ready"

    def close(self):
        self._peer.close()
        self._process.wait(STUCK_S)

    def environ(self, **changed):
        return {**self.world.environ, **changed}

    def __call__(self, *argv, stdout=None, interrupt_at=0, **environ):
        """Run it with its streams in files; ``stdout`` may be another descriptor."""
        with _scratch() as nothing, _scratch() as out, _scratch() as err, _scratch() as told:
            streams = [nothing.fileno(), stdout or out.fileno(), err.fileno(), told.fileno()]
            self._ask(
                argv,
                streams,
                self.environ(**environ),
                interrupt_at,
                whole_exit=stdout is not None,
            )
            code = int(self._peer.recv(100))
            return Done(code, _text(out), _text(err), bool(_text(told)))

    def on_a_terminal(self, *argv, columns, **environ):
        """Run it with a terminal for stdout and stderr."""
        ours, theirs = pty.openpty()
        try:
            termios.tcsetwinsize(theirs, (24, columns))
            modes = termios.tcgetattr(theirs)
            modes[1] &= ~termios.OPOST
            termios.tcsetattr(theirs, termios.TCSANOW, modes)
            with _scratch() as nothing, _scratch() as told:
                environ = {"TERM": "xterm", "COLUMNS": str(columns), **environ}
                streams = [nothing.fileno(), theirs, theirs, told.fileno()]
                self._ask(argv, streams, self.environ(**environ))
            text = b""
            while not select.select([self._peer], [], [], 0)[0]:  # an engine keeps it open
                text += _read(ours)
            code = int(self._peer.recv(100))
            while chunk := _read(ours):
                text += chunk
            return Done(code, text.decode(), "")
        finally:
            os.close(ours)
            os.close(theirs)

    def _ask(self, argv, streams, environ, interrupt_at=0, *, whole_exit=False):
        asked = {
            "argv": [*map(str, argv)],
            "environ": environ,
            "cwd": str(self.world.folder),
            "interrupt_at": interrupt_at,
            "whole_exit": whole_exit,
        }
        socket.send_fds(self._peer, [json.dumps(asked).encode()], streams)
        self._peer.recv(100)


def _read(terminal):
    """What stands there; nothing after a moment in which nothing came."""
    ready, _, _ = select.select([terminal], [], [], 0.01)
    return os.read(terminal, 1 << 16) if ready else b""


def _scratch():
    return os.fdopen(os.memfd_create("scratch"), "w+b")


def _text(file):
    return os.pread(file.fileno(), 1 << 24, 0).decode(errors="surrogateescape")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with one of each kind of file that a command reads, and a run that is over."""
    return write_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def pfid(world):
    """Run a command for real."""
    started = Pfid(world)
    yield started
    started.close()


@pytest.fixture
def fresh(world):
    """The example of a command with its files in place, whatever an earlier one did to them."""

    def example(call):
        world.restore()
        return world.example(call)

    return example
