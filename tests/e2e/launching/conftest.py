"""A user with a home and a working directory, where no daemon is to be found."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PFID = (sys.executable, "-P", "-m", "pfid")


class User:
    """Runs pfid, and looks at what it leaves behind."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.work = root / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.environ = {
            name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"
        } | {"HOME": str(self.home)}
        self._started: list[subprocess.Popen[str]] = []

    def pfid(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [*PFID, *arguments],
            cwd=self.work,
            env=self.environ | environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def run(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run ``pfid run --name train`` to its end."""
        return self.pfid("run", "--name", "train", *arguments, **environ)

    def start(self, *arguments: str, **environ: str) -> subprocess.Popen[str]:
        """Start a command; it is killed at the end of the test, with what it started."""
        process = subprocess.Popen(
            [*PFID, *arguments],
            cwd=self.work,
            env=self.environ | environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def start_run(self, *arguments: str, **environ: str) -> subprocess.Popen[str]:
        """Start ``pfid run --name train``."""
        return self.start("run", "--name", "train", *arguments, **environ)

    def spawn(self, *command: str, stdout: Any = subprocess.DEVNULL) -> subprocess.Popen[str]:
        """Start a program that is not pfid."""
        process = subprocess.Popen(command, cwd=self.work, stdout=stdout, text=True)
        self._started.append(process)
        return process

    def text(self, name: str = "train.log") -> str:
        """What a log holds now."""
        file = self.work / name
        return file.read_text() if file.exists() else ""

    def records(self) -> list[dict[str, Any]]:
        """Every run's record, oldest first."""
        files = self.home.glob(".local/state/pfid/*/runs/*/record.json")
        found = []
        for file in files:
            with contextlib.suppress(ValueError):  # a test corrupted it
                found.append(json.loads(file.read_text()))
        return sorted(found, key=lambda record: record["started_at_s"])

    def run_dir(self, record: dict[str, Any]) -> Path:
        """Folder of a run."""
        [folder] = self.home.glob(f".local/state/pfid/*/runs/{record['run_id']}")
        return folder

    def rotated(self, stem: str = "train", suffix: str = ".log") -> list[Path]:
        """Logs that stepped aside."""
        return sorted(self.work.glob(f"{stem}.*T*Z*{suffix}"))

    def close(self) -> None:
        """End what still runs, by the pids that pfid recorded."""
        for process in self._started:
            process.kill()
            process.communicate()
        for record in self.records():
            pid, ticks = record["process"]["pid"], record["process"]["start_ticks"]
            if start_ticks(pid) == ticks:
                os.kill(pid, 9)


def start_ticks(pid: int) -> int | None:
    """Field 22 of the stat line, None if there is no such process."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (FileNotFoundError, ProcessLookupError):
        return None


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    it = User(tmp_path)
    yield it
    it.close()


class Watcher:
    """A process that stands in for the box's daemon (see watcher.py)."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._notes = socket.with_name("notes")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Bind, as a daemon that comes up does."""
        script = Path(__file__).with_name("watcher.py")
        self._process = subprocess.Popen([sys.executable, script, self.socket, self._notes])

    def kill(self) -> None:
        """Die without a word; the socket stays behind."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def told(self, operation: str) -> list[dict[str, Any]]:
        """Every request of a kind so far, with what came with it."""
        lines = self._notes.read_text().splitlines() if self._notes.exists() else []
        every = [json.loads(line) for line in lines]
        return [each for each in every if each["request"]["op"] == operation]


@pytest.fixture
def watcher(tmp_path: Path, user: User) -> Iterator[Watcher]:
    """Where the user's pfid looks for the box's daemon; not started yet."""
    it = Watcher(tmp_path / "watcher.sock")
    user.environ["PFID_SOCKET"] = str(it.socket)
    yield it
    it.kill()


@pytest.fixture
def eventually() -> Callable[..., Any]:
    """Wait until something is so, and return it."""

    def wait(look: Callable[[], Any], what: str, within_s: float = 30.0) -> Any:
        deadline_s = time.monotonic() + within_s
        while time.monotonic() < deadline_s:
            found = look()
            if found:
                return found
            time.sleep(0.02)
        pytest.fail(f"{what}: not within {within_s} s")

    return wait


@pytest.fixture
def comm() -> Callable[[int], str]:
    """Tell the kernel's short name of a process, "" if there is none."""

    def read(pid: int) -> str:
        try:
            return Path(f"/proc/{pid}/comm").read_text().strip()
        except (FileNotFoundError, ProcessLookupError):
            return ""

    return read
