"""How runs end, seen by a real daemon on real processes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PARENT_THAT_DOES_NOT_REAP = """
import os, sys, time
child = os.fork()
if child == 0:
    time.sleep(1000)
print(child, flush=True)
sys.stdin.readline()
os.waitpid(child, 0)
time.sleep(1000)
"""
TREE = """
import os, sys, time, signal
worker = os.fork()
if worker == 0:
    time.sleep(1000)
print(worker, flush=True)
os.waitpid(worker, 0)
time.sleep(0.3)
sys.exit(1)
"""
DOUBLE_FORK = """
import os, sys, time
sys.stdin.readline()
read, write = os.pipe()
if os.fork() == 0:
    os.close(write)
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os.read(read, 1)
    os._exit(0)
sys.stdin.readline()
os.write(write, b"x")
os.wait()
time.sleep(1000)
"""

ADOPTS = """
import ctypes, os, sys, time
PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
sys.stdin.readline()
middle = os.fork()
if middle == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        print(os.getpid(), flush=True)
        time.sleep(1000)
    os._exit(0)
os.waitpid(middle, 0)
sys.stdin.readline()
os.wait()
time.sleep(0.3)
sys.exit(3)
"""


def test_an_exit_code_of_a_process_that_is_not_our_child_is_told(box):
    child = box.child("sh", "-c", "read x; exit 7", stdin=-1)
    box.register(child.pid, "exits")
    child.communicate(b"go\n")
    end = box.until("it ended", lambda: box.end("exits"))
    assert (end["kind"], end["exit_code"], end["signal"]) == ("exited", 7, None)
    box.until("it is told", lambda: box.reasons("exits")[-1:] == ["exited_nonzero"])
    assert box.run("exits")["run"]["state"] == "failed"


def test_a_clean_exit_is_no_failure(box):
    child = box.child("sh", "-c", "read x; exit 0", stdin=-1)
    box.register(child.pid, "clean")
    child.communicate(b"go\n")
    end = box.until("it ended", lambda: box.end("clean"))
    assert (end["kind"], end["exit_code"]) == ("exited", 0)
    assert box.verdicts("clean")["run_gone"][0] == "pass"
    assert box.run("clean")["run"]["state"] == "exited"


def test_a_kill_is_told_by_its_signal(box):
    child = box.child()
    box.register(child.pid, "killed")
    child.kill()
    child.wait()
    end = box.until("it ended", lambda: box.end("killed"))
    assert (end["kind"], end["signal"]) == ("signaled", signal.SIGKILL)
    assert box.verdicts("killed")["run_gone"] == ("fail", "killed_by_signal")


def test_a_zombie_has_ended_although_nobody_reaped_it(box):
    parent = box.child(sys.executable, "-c", PARENT_THAT_DOES_NOT_REAP, stdin=-1, stdout=-1)
    pid = int(parent.stdout.readline())
    box.register(pid, "zombie")
    os.kill(pid, signal.SIGKILL)
    end = box.until("its end is seen", lambda: box.end("zombie"))
    assert Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    assert end["kind"] in {"signaled", "unknown_status"}
    parent.stdin.write(b"reap\n")
    parent.stdin.flush()
    box.until("the status is known", lambda: box.end("zombie")["signal"] == signal.SIGKILL)


def test_a_stopped_run_is_suspended_and_comes_back(box):
    child = box.child()
    box.register(child.pid, "stopped")
    child.send_signal(signal.SIGSTOP)
    box.until("suspended", lambda: box.run("stopped")["run"]["state"] == "suspended")
    assert box.end("stopped") is None
    child.send_signal(signal.SIGCONT)
    box.until("running again", lambda: box.run("stopped")["run"]["state"] == "running")


def test_the_first_death_in_a_tree_is_named_though_the_parent_ends_later_by_itself(box):
    parent = box.child(sys.executable, "-c", TREE, stdout=-1)
    worker = int(parent.stdout.readline())
    box.register(parent.pid, "tree")
    box.until("both are known", lambda: _processes(box, "tree") == 2)
    os.kill(worker, signal.SIGKILL)
    end = box.until("it ended", lambda: box.end("tree"))
    assert (end["exit_code"], end["first_death"]["pid"]) == (1, worker)
    assert end["first_death"]["signal"] == signal.SIGKILL
    assert end["first_death"]["is_root"] is False


def test_a_grandchild_whose_parent_is_gone_still_belongs_to_the_run(box):
    child = box.child(sys.executable, "-c", DOUBLE_FORK, stdin=-1)
    box.register(child.pid, "daemonised")
    assert child.stdin is not None
    for line, processes in ((b"fork\n", 3), (b"and leave it alone\n", 2)):
        child.stdin.write(line)
        child.stdin.flush()
        box.until(f"{processes} processes", lambda n=processes: _processes(box, "daemonised") == n)
    time.sleep(6.0)  # more than one sweep
    assert _processes(box, "daemonised") == 2


def test_a_launcher_that_adopts_what_was_forked_twice_keeps_it_in_its_run(box):
    """Step daemons of schedulers, user managers and the inits of containers are such launchers."""
    root = box.child(sys.executable, "-c", ADOPTS, stdin=-1, stdout=-1)
    box.register(root.pid, "adopts")
    assert root.stdin is not None
    assert root.stdout is not None
    root.stdin.write(b"fork\n")
    root.stdin.flush()
    orphan = int(root.stdout.readline())
    box.until("it is adopted", lambda: _parent(orphan) == root.pid)
    box.until("it is in the tree", lambda: _processes(box, "adopts") == 2)
    os.kill(orphan, signal.SIGKILL)
    root.stdin.write(b"go\n")
    root.stdin.flush()
    end = box.until("it ended", lambda: box.end("adopts"))
    death = end["first_death"]
    assert (death["pid"], death["signal"], death["is_root"]) == (orphan, signal.SIGKILL, False)
    assert (end["kind"], end["exit_code"]) == ("exited", 3)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_an_operators_stop_is_no_failure(box):
    from pfid.wire.control import StopIntent

    child = box.child()
    box.register(child.pid, "stop-me")
    box.ask(StopIntent(run_id="stop-me", why="making room"))
    child.terminate()
    child.wait()
    end = box.until("it ended", lambda: box.end("stop-me"))
    assert end["kind"] == "operator_stop"
    assert box.run("stop-me")["stop"]["why"] == "making room"
    assert box.verdicts("stop-me")["run_gone"][0] != "fail"


def test_a_schedulers_time_limit_is_told_from_a_kill(box, tmp_path):
    log = tmp_path / "train.log"
    log.write_text("")
    child = box.child("sh", "-c", "trap 'exit 143' TERM; while :; do sleep 0.05; done")
    box.register(child.pid, "limited", [log])
    with log.open("a") as out:
        out.write("slurmstepd: error: *** JOB 81 ON n1 CANCELLED AT 2026-01-01T00:00:00 ")
        out.write("DUE TO TIME LIMIT ***\n")
    child.terminate()
    child.wait()
    end = box.until("it ended", lambda: box.end("limited"))
    assert end["kind"] == "scheduler_limit"
    assert box.verdicts("limited")["run_gone"][0] != "fail"


def test_five_hundred_runs_end_at_once_and_each_is_told_once(box):
    children = [box.child() for _ in range(500)]
    for i, child in enumerate(children):
        box.register(child.pid, f"many-{i}")
    for child in children:
        child.kill()
    for child in children:
        child.wait()

    def gone() -> dict[str, int]:
        counts: dict[str, int] = {}
        for event in box.events():
            transition = event["transition"]
            if transition["check"] == "run_gone" and transition["verdict"]["outcome"] == "fail":
                run = transition["entity"]["id"]
                counts[run] = counts.get(run, 0) + 1
        return counts

    counts = box.until("every death is told", lambda: (c := gone()) and len(c) == 500 and c)
    assert set(counts.values()) == {1}


def _processes(box, run_id: str) -> int:
    resources = box.run(run_id)["run"]["resources"]
    return 0 if resources is None else resources["processes"]


REUSED = """
import importlib.util, json, os, signal, subprocess, sys
from pathlib import Path

folder, place, watched = sys.argv[1:]
spec = importlib.util.spec_from_file_location("boxes", place)
boxes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(boxes)
box = boxes.Box(Path(folder))
try:
    box.start()
    child = box.child()
    box.register(child.pid, "first")
    if watched == "stopped":
        box.daemon.send_signal(signal.SIGSTOP)
    elif watched == "killed":
        box.kill()
    child.kill()
    child.wait()
    Path("/proc/sys/kernel/ns_last_pid").write_text(str(child.pid - 1))
    stranger = box.child()
    if watched == "stopped":
        box.daemon.send_signal(signal.SIGCONT)
    elif watched == "killed":
        box.start()
    first = box.until("the end of the first is said", lambda: box.end("first"))
    reply = box.register(stranger.pid, "second")
    assert not hasattr(reply, "message"), reply
    second = box.end("second")
    stranger.send_signal(signal.SIGTERM)
    stranger.wait()
    ended = box.until("the end of the second is said", lambda: box.end("second"))
    box.until("it is told", lambda: box.reasons("second"))
    print(json.dumps({
        "reused": stranger.pid == child.pid, "first": first, "again": box.end("first"),
        "taken": type(reply).__name__, "second": second, "ended": ended,
        "told": box.reasons("first"),
    }))
finally:
    box.close()
"""


@pytest.mark.full
@pytest.mark.root
@pytest.mark.parametrize("watched", ["always", "stopped", "killed"])
def test_a_pid_that_came_again_is_another_process_to_the_daemon(tmp_path, watched):
    """In a pid namespace of our own the next pid can be chosen: reuse is forced, not awaited."""
    place = Path(__file__).with_name("conftest.py")
    done = subprocess.run(
        [
            *("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable),
            *("-c", REUSED, tmp_path, place, watched),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    told = json.loads(done.stdout) if done.stdout else pytest.fail(done.stderr)
    assert told["reused"], "the fault was not delivered"
    kind = "unobserved" if watched == "killed" else "signaled"
    assert told["first"]["kind"] == kind
    assert told["again"] == told["first"], "the end of the other is not its own"
    assert len([reason for reason in told["told"] if reason != "running"]) <= 1, "told once"
    assert (told["taken"], told["second"]) == ("Registered", None)
    assert (told["ended"]["kind"], told["ended"]["signal"]) == ("signaled", signal.SIGTERM)
