"""The installed pfid as a user runs it, in a place of its own."""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ALONE = frozenset({"test_real_fallback.py", "test_real_trainer.py"})
"""Files whose tests time real steps, and so want the machine for themselves."""
TRAINING = Path(__file__).resolve().parent / "training"


PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
WAIT_ALL = 0x40000000


def ptrace(request: int, thread: int) -> None:
    """One request of ptrace(2) that takes no more than the thread it is about."""
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if call(request, thread, None, None) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), f"ptrace {request:#x} of {thread}")


@contextlib.contextmanager
def one_thread_stands_still(thread: int) -> Iterator[None]:
    """That thread makes no step, as in a call that never returns; all others of its process do.

    The first thread of a process has the process's number.
    """
    ptrace(PTRACE_SEIZE, thread)
    ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WAIT_ALL)
    state = Path(f"/proc/{thread}/stat").read_text().rpartition(")")[2].split()[0]
    assert state == "t", f"thread {thread} was not stopped: {state}"
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has been killed meanwhile
            ptrace(PTRACE_DETACH, thread)


class Place:
    """A folder, an environment and the processes started in it."""

    def __init__(self, folder: Path, compiled: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.environ = dict(os.environ) | {
            "XDG_STATE_HOME": str(self.state),
            "PFID_SOCKET": str(folder / "daemon.sock"),
            "TORCHINDUCTOR_CACHE_DIR": str(compiled),
            "TORCHINDUCTOR_VEC_ISA_OK": "1",
        }
        self._started: list[subprocess.Popen[bytes]] = []

    def configure(self, toml: str) -> None:
        """Write a configuration that every process of this place reads."""
        path = self.folder / "pfid.toml"
        path.write_text(toml)
        self.environ["PFID_CONFIG"] = str(path)

    def pfid(self, *arguments: str, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            [sys.executable, "-P", "-m", "pfid", *arguments],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def json(self, *arguments: str) -> Any:
        """What a command prints with ``--json``; it must be one object and nothing else."""
        done = self.pfid(*arguments, "--json")
        try:
            return json.loads(done.stdout)
        except ValueError:
            pytest.fail(f"pfid {' '.join(arguments)} --json printed {done.stdout!r} {done.stderr}")

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command; what it prints goes to ``pfid-N.out``."""
        number = len(self._started)
        with (self.folder / f"pfid-{number}.out").open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "pfid", *arguments],
                cwd=self.folder,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self._started.append(process)
        return process

    def said(self) -> str:
        """What all started commands have printed so far, for a failure's message."""
        outs = sorted(self.folder.glob("pfid-*.out"))
        engines = sorted(self.state.glob("pfid/*/runs/*/engine/engine.log"))
        return "\n".join(f"--- {p.name}\n{p.read_text(errors='replace')}" for p in outs + engines)

    def run_ids(self) -> list[str]:
        """Runs launched by this place's user, oldest first."""
        found = sorted(self.state.glob("pfid/*/runs/*"), key=lambda p: p.stat().st_mtime_ns)
        return [p.name for p in found if p.is_dir()]

    def verdict(self, run_id: str, check: str) -> dict[str, Any]:
        """One check's verdict about a run; empty while there is none."""
        done = self.pfid("show", run_id, "--json")
        shown = json.loads(done.stdout) if done.stdout else {}  # its engine is not up yet
        found = [v for v in shown.get("verdicts", ()) if v["check"] == check]
        return found[-1] if found else {}

    def until(self, what: str, look: Callable[[], Any], within_s: float) -> Any:
        """Look until something true is seen, and return it."""
        ends_at = time.monotonic() + within_s
        while time.monotonic() < ends_at:
            seen = look()
            if seen:
                return seen
            time.sleep(0.3)
        pytest.fail(f"{what}: not seen within {within_s} s\n{self.said()}")

    def close(self) -> None:
        """End what was started, politely first."""
        for process in self._started:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a compiler made of one test's training is the same for the next one's."""
    return tmp_path_factory.mktemp("inductor")


@pytest.fixture
def place(tmp_path: Path, compiled: Path) -> Iterator[Place]:
    """A place to run the installed pfid in; everything started there is ended afterwards."""
    it = Place(tmp_path, compiled)
    yield it
    it.close()


@pytest.fixture
def standing_still() -> Callable[[int], contextlib.AbstractContextManager[None]]:
    """Have one thread of a process stand still while the others go on."""
    return one_thread_stands_still


@pytest.fixture
def training() -> Callable[..., tuple[str, ...]]:
    """Return the command line of one of ``training/``'s programs."""

    def command(name: str, *options: str) -> tuple[str, ...]:
        return (sys.executable, str(TRAINING / f"{name}.py"), *options)

    return command


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole programs belong to the full tier; the quick one is for after every change.

    Those that time real steps want the machine for themselves.
    """
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.full)
            if item.path.name in ALONE:
                item.add_marker(pytest.mark.alone)
