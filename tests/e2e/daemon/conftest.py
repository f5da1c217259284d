"""A daemon of the test's own, driven through its control socket."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from pfid.adapters.control_client import ControlClient
from pfid.domain.errors import ControlError
from pfid.wire.control import (
    GetEvents,
    GetRun,
    GetSnapshot,
    HandedLog,
    Register,
    Reply,
    Role,
)

CONFIG = '[page]\nlisten = ["127.0.0.1:0"]\n'
WITHIN_S = 60.0


class Box:
    """A folder with a daemon, and the processes it watches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "control.sock"
        self.state = folder / "state"
        self.config = folder / "pfid.toml"
        self.config.write_text(CONFIG)
        self.environ = dict(os.environ) | {
            "PFID_SOCKET": str(self.socket),
            "STATE_DIRECTORY": str(self.state),
        }
        self.daemon: subprocess.Popen[bytes] | None = None
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, **more: Any) -> None:
        """Start the daemon and wait until it answers."""
        with (self.folder / "daemon.log").open("ab") as log:
            self.daemon = subprocess.Popen(
                [sys.executable, "-P", "-m", "pfid", "daemon", "--config", str(self.config)],
                env=self.environ,
                stderr=log,
                **more,
            )
        self.until("the daemon answers", self._answers)

    def _answers(self) -> bool:
        assert self.daemon is not None
        assert self.daemon.poll() is None, self.log()
        try:
            self.ask(GetSnapshot())
        except ControlError:
            return False
        return True

    def kill(self, number: int = signal.SIGKILL) -> None:
        """End the daemon."""
        assert self.daemon is not None
        self.daemon.send_signal(number)
        self.daemon.wait(WITHIN_S)

    def log(self) -> str:
        """What the daemon has said."""
        return (self.folder / "daemon.log").read_text(errors="replace")

    def ask(self, request: Any, fds: Sequence[int] = (), timeout_s: float = WITHIN_S) -> Reply:
        """One request over a connection of its own."""
        with ControlClient(self.socket, timeout_s=timeout_s) as client:
            return client.call(request, fds)

    def child(self, *command: str, **more: Any) -> subprocess.Popen[bytes]:
        """Start a process that is ended with the test."""
        process = subprocess.Popen(command or ("sleep", "1000"), **more)
        self.processes.append(process)
        return process

    def register(self, pid: int, run_id: str, logs: Sequence[Path] = (), **more: Any) -> Reply:
        """Hand a process and its logs over."""
        fds = [os.pidfd_open(pid), *(os.open(log, os.O_RDONLY) for log in logs)]
        request = Register(
            **{
                "name": run_id,
                "run_id": run_id,
                "pid": pid,
                "start_ticks": None,
                "started_at_s": time.time(),
                "source": "captured",
                "roles": [Role.PIDFD, *([Role.LOG] * len(logs))],
                "logs": [HandedLog() for _ in logs],
                **more,
            }
        )
        try:
            return self.ask(request, fds)
        finally:
            for fd in fds:
                os.close(fd)

    def run(self, run_id: str) -> dict[str, Any]:
        """One run as its owner sees it."""
        reply = self.ask(GetRun(run_id=run_id))
        return vars_of(reply)

    def end(self, run_id: str) -> dict[str, Any] | None:
        """How it ended."""
        found: dict[str, Any] | None = self.run(run_id)["run"]["end"]
        return found

    def verdicts(self, run_id: str) -> dict[str, tuple[str, str]]:
        """Outcome and reason by check."""
        return {v["check"]: (v["outcome"], v["reason"]) for v in self.run(run_id)["verdicts"]}

    def events(self, run_id: str | None = None) -> list[dict[str, Any]]:
        """Every event so far."""
        return list(vars_of(self.ask(GetEvents(run_id=run_id, limit=10_000)))["events"])

    def reasons(self, run_id: str, check: str = "run_gone") -> list[str]:
        """Reason codes of a check's transitions, oldest first."""
        return [
            e["transition"]["verdict"]["reason"]
            for e in self.events(run_id)
            if e["transition"]["check"] == check
        ]

    def until(self, what: str, look: Callable[[], Any], within_s: float = WITHIN_S) -> Any:
        """Look until something true is seen."""
        ends_at = time.monotonic() + within_s
        while time.monotonic() < ends_at:
            seen = look()
            if seen:
                return seen
            time.sleep(0.02)
        pytest.fail(f"{what}: not within {within_s} s\n{self.log()[-4000:]}")

    def close(self) -> None:
        """End everything that was started."""
        if self.daemon is not None and self.daemon.poll() is None:
            self.kill(signal.SIGTERM)
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()


def vars_of(reply: Any) -> dict[str, Any]:
    """A reply's fields."""
    return {name: getattr(reply, name) for name in reply.__struct_fields__}


@pytest.fixture
def idle_box(tmp_path: Path) -> Iterator[Box]:
    """A box whose daemon was not started yet."""
    box = Box(tmp_path)
    yield box
    box.close()


@pytest.fixture
def box(idle_box: Box) -> Box:
    """A box with a running daemon."""
    idle_box.start()
    return idle_box
