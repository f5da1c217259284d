"""Real processes through kept descriptors and the kernel's counters."""

import os
import signal
import subprocess
import sys
import time

import pytest

from pfid.adapters.oom_counter import OomCounter
from pfid.adapters.process_table import ProcessTable, pid_of


@pytest.fixture
def child():
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def test_a_held_process_is_read_until_it_is_reaped_and_tells_how_it_ended(child):
    held = ProcessTable().hold(child.pid)
    while held.read().state != "S":
        time.sleep(0.005)
    assert held.read().resident_bytes > 0
    assert held.status() is None
    os.kill(child.pid, signal.SIGKILL)
    while held.read().state != "Z":
        time.sleep(0.005)
    assert held.status() == (None, signal.SIGKILL)
    child.wait()
    assert held.read() is None
    assert held.status() == (None, signal.SIGKILL)
    held.close()
    held.close()


@pytest.mark.parametrize(("script", "told"), [("kill -9 $$", (None, 9)), ("exit 0", None)])
def test_one_caught_in_its_exec_tells_how_it_ended_unless_that_looks_like_a_refusal(script, told):
    child = subprocess.Popen(["sh", "-c", f"read go; {script}"], stdin=subprocess.PIPE)
    held = ProcessTable().hold(child.pid)
    held._may_see_status = (
        False  # as a line read before the new program's address was set leaves it
    )
    held._last_line = b""
    child.stdin.write(b"go\n")
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead for certain, and not reaped
    assert held.status() == told
    child.wait()
    held.close()


def test_a_process_that_does_not_exist_cannot_be_held():
    done = subprocess.Popen(["true"])
    done.wait()
    assert ProcessTable().hold(done.pid) is None


def test_a_pidfd_says_who_is_behind_it(child):
    fd = os.pidfd_open(child.pid)
    who = ProcessTable().identify(fd)
    assert (who.identity.pid, who.uid, who.ended) == (child.pid, os.getuid(), False)
    child.kill()
    child.wait()
    gone = ProcessTable().identify(fd)
    assert (gone.identity, gone.uid, gone.ended) == (None, None, True)
    os.close(fd)


def test_what_is_no_pidfd_is_nobody():
    fd = os.open("/dev/null", os.O_RDONLY)
    assert ProcessTable().identify(fd) is None
    assert pid_of(fd) is None
    os.close(fd)


@pytest.mark.root
def test_io_counters_one_may_not_read_are_absent_and_never_zero():
    code = (
        "import sys\n"
        "from pfid.adapters.process_table import ProcessTable\n"
        "held = ProcessTable().hold(int(sys.argv[1]))\n"
        "print(held.read_io(), held.read().state)\n"
    )
    own = str(os.getpid())
    said = subprocess.run(
        ["setpriv", "--reuid=61234", "--clear-groups", sys.executable, "-P", "-c", code, own],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.split()
    assert said[0] == "None"
    assert said[1] in {"R", "S"}


def test_the_kernels_oom_count_is_read_afresh_and_unknown_where_it_is_not(tmp_path):
    proc, mount = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "7").mkdir(parents=True)
    (mount / "job").mkdir(parents=True)
    (proc / "vmstat").write_text("nr_free 1\noom_kill 4\n")
    (proc / "7" / "cgroup").write_text("0::/job\n")
    (mount / "job" / "memory.events").write_text("oom 2\noom_kill 1\n")
    counter = OomCounter(proc, mount)
    place = counter.place_of(7)
    assert (counter.box(), counter.cgroup(place)) == (4, 1)
    (mount / "job" / "memory.events").write_text("oom 3\noom_kill 2\n")
    assert counter.cgroup(place) == 2
    assert counter.place_of(8) is None
    counter.close()
    silent = OomCounter(tmp_path / "nowhere", mount)
    assert silent.box() is None


def test_this_kernel_counts_oom_kills():
    assert OomCounter().box() is not None


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("oom_kill 5\nlast 1\n", 5),
        ("oom_kill_disable 1\nunder_oom 0\noom_kill 2\n", 2),
        ("low 0\noom 7\noom_kill 3\noom_group_kill 9\n", 3),
        ("x" * 9_000 + " 1\noom_kill 4", 4),
        ("zoom_kill 8\noom_killer 6\n", None),
        ("oom_kill many\n", None),
        ("", None),
    ],
)
def test_the_count_is_read_out_of_whatever_stands_around_it(tmp_path, said, count):
    (tmp_path / "vmstat").write_text(said)
    assert OomCounter(proc=tmp_path).box() == count
