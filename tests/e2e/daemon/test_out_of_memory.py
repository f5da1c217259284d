"""A kill by the kernel for memory in the run's own cgroup, told from any other SIGKILL.

Of cgroup version 1 or 2, whichever holds the memory controller here.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pfid.formats.exposition import samples

pytestmark = [pytest.mark.root, pytest.mark.full]
LIMIT_BYTES = 64 * 1024 * 1024
EATER = "import sys; sys.stdin.readline(); held = bytearray(b'x') * 400_000_000"
HOLDER = "import sys; sys.stdin.readline(); held = bytearray(b'x') * 40_000_000; sys.stdin.read()"
PARENT = f"""
import subprocess, sys
eater = subprocess.Popen([sys.executable, "-c", {EATER!r}], stdin=subprocess.PIPE, text=True)
print(eater.pid, flush=True)
eater.stdin.write(sys.stdin.readline())
eater.stdin.flush()
sys.exit(1 if eater.wait() else 0)
"""
V1, V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


class Cgroup:
    """A cgroup of the test's own with a limit of memory."""

    def __init__(self, path: Path, limit_file: str, count_file: str) -> None:
        self.path, self._limit_file, self._count_file = path, limit_file, count_file

    def bound(self) -> None:
        """Set the limit; without swap, where that can be said, so that it is met."""
        (self.path / self._limit_file).write_text(str(LIMIT_BYTES))
        for name in ("memory.memsw.limit_in_bytes", "memory.swap.max"):
            with contextlib.suppress(OSError):
                (self.path / name).write_text("0" if name.endswith("max") else str(LIMIT_BYTES))

    def take(self, pid: int) -> None:
        """Put a process into it."""
        (self.path / "cgroup.procs").write_text(str(pid))

    def kills(self) -> int:
        """What the kernel has counted."""
        lines = (self.path / self._count_file).read_text().splitlines()
        return int(dict(line.split() for line in lines)["oom_kill"])


@pytest.fixture
def cgroup() -> Iterator[Cgroup]:
    """Made below the root of the memory controller, or a reason why it cannot be."""
    if os.geteuid():
        pytest.skip("a cgroup can be made by root only")
    name = f"pfid-test-{os.getpid()}"
    if (V1 / "memory.limit_in_bytes").exists():
        made = Cgroup(V1 / name, "memory.limit_in_bytes", "memory.oom_control")
    elif "memory" in _controllers(V2):
        with contextlib.suppress(OSError):
            (V2 / "cgroup.subtree_control").write_text("+memory")
        made = Cgroup(V2 / name, "memory.max", "memory.events")
    else:
        pytest.skip("no memory controller of either cgroup version is mounted here")
    try:
        made.path.mkdir()
        made.bound()
        assert made.kills() == 0
    except (OSError, KeyError) as error:
        with contextlib.suppress(OSError):
            made.path.rmdir()
        pytest.skip(f"no cgroup with a limit of memory can be made here: {error}")
    yield made
    for _ in range(200):
        try:
            made.path.rmdir()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail(f"{made.path} could not be removed")


def _controllers(root: Path) -> list[str]:
    try:
        return (root / "cgroup.controllers").read_text().split()
    except OSError:
        return []


def _go(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdin is not None
    process.stdin.write(b"go\n")
    process.stdin.flush()


def test_a_run_that_the_kernel_killed_for_memory_is_told_as_one(box, cgroup):
    eater = box.child(sys.executable, "-c", EATER, stdin=-1)
    cgroup.take(eater.pid)
    box.register(eater.pid, "eats")
    _go(eater)
    end = box.until("it ended", lambda: box.end("eats"))
    assert cgroup.kills() == 1, "the fault was not delivered"
    assert (end["kind"], end["signal"]) == ("oom_killed", signal.SIGKILL)
    box.until("it is told", lambda: box.reasons("eats")[-1:] == ["oom_killed"])


def test_a_worker_that_was_killed_for_memory_is_named_though_its_parent_ends_by_itself(box, cgroup):
    parent = box.child(sys.executable, "-c", PARENT, stdin=-1, stdout=-1)
    cgroup.take(parent.pid)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    cgroup.take(worker)
    box.register(parent.pid, "tree")
    box.until(
        "both are known", lambda: (box.run("tree")["run"]["resources"] or {}).get("processes") == 2
    )
    _go(parent)
    end = box.until("it ended", lambda: box.end("tree"))
    assert cgroup.kills() == 1, "the fault was not delivered"
    assert end["first_death"]["pid"] == worker
    assert end["first_death"]["signal"] == signal.SIGKILL
    box.until("it is told", lambda: box.reasons("tree")[-1:] == ["oom_killed"])


def test_a_kill_by_hand_in_the_same_cgroup_is_no_kill_for_memory(box, cgroup):
    eater = box.child(sys.executable, "-c", EATER, stdin=-1)
    cgroup.take(eater.pid)
    box.register(eater.pid, "killed")
    os.kill(eater.pid, signal.SIGKILL)
    end = box.until("it ended", lambda: box.end("killed"))
    assert cgroup.kills() == 0
    assert (end["kind"], end["signal"]) == ("signaled", signal.SIGKILL)
    box.until("it is told", lambda: box.reasons("killed")[-1:] == ["killed_by_signal"])


def test_the_limit_over_a_run_and_what_is_left_of_it_stand_on_the_page(box, cgroup):
    grows = box.child(sys.executable, "-c", HOLDER, stdin=-1)
    cgroup.take(grows.pid)
    url = box.register(grows.pid, "grows").metrics_url

    def shown():
        page = urllib.request.urlopen(url).read().decode()
        found = {s.name: s.value for s in samples(page) if s.labels.get("run") == "grows"}
        names = ("pfid_run_memory_limit_bytes", "pfid_run_memory_available_bytes")
        return tuple(found[name] for name in names) if names[0] in found else None

    limit, left = box.until("something is told", shown)
    assert 0 < left <= limit
    _go(grows)
    box.until("the cgroup's own limit is nearest", lambda: shown()[0] == LIMIT_BYTES)
    box.until("what it took is gone from what is left", lambda: shown()[1] < 0.5 * LIMIT_BYTES)
    assert shown()[1] > 0
    assert cgroup.kills() == 0
    grows.kill()
    grows.wait()
