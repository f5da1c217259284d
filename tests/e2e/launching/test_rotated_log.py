"""A log that is rotated while its run goes on: what was known of the run stays known."""

import json
import os
import signal
import socket
import struct
import sys

import pytest

pytestmark = pytest.mark.full

TRAIN = """
import time
from pathlib import Path

def steps(first, last, ms):
    with open("own.log", "a") as file:
        for i in range(first, last):
            file.write(f"iter {i}: loss 2.0, time {ms}ms, mfu 1.00%\\n")

def wait(name):
    while not Path(name).exists():
        time.sleep(0.05)

print("W1129 12:00:00.000000 4242 torch/_dynamo/convert_frame.py:1016] [4/8] "
      "torch._dynamo hit config.recompile_limit (8)", flush=True)
steps(0, 65, 1000)
wait("slower")
steps(65, 130, 20000)
wait("rotated")
steps(130, 250, 20000)
wait("over")
"""


@pytest.fixture
def shown(user):
    """What ``pfid show`` says: the run, and outcome and reason by check."""

    def ask():
        [record] = user.records()
        done = user.pfid("show", record["run_id"], "--json")
        told = json.loads(done.stdout) if done.stdout else {}
        verdicts = {v["check"]: v for v in told.get("verdicts", [])}
        return told.get("run") or {}, verdicts

    return ask


def test_what_a_run_failed_by_it_fails_by_after_its_log_was_rotated(user, shown, eventually):
    (user.work / "train.py").write_text(TRAIN)
    launcher = user.start_run(
        "--log", "train.log", "--log", "own.log", "--", sys.executable, "train.py"
    )

    eventually(user.records, "a record")

    def said(outcome, steps):
        run, verdicts = shown()
        judged = verdicts.get("step_time_regime", {}).get("outcome")
        return (run, verdicts) if (judged, run.get("steps")) == (outcome, steps) else None

    eventually(lambda: said("pass", 65), "a healthy run")
    (user.work / "slower").touch()
    before, _ = eventually(lambda: said("fail", 130), "its fall")
    (user.work / "own.log").rename(user.work / "own.log.1")
    (user.work / "rotated").touch()
    after, verdicts = eventually(lambda: said("fail", 250), "its steps in the new log")
    assert after["baseline"] == before["baseline"]
    assert after["step_seconds"]["n"] == 249
    assert verdicts["recompile_limit"]["figures"]["hits"]["value"] == 1, (
        "the other log is told once"
    )
    assert verdicts["log_is_one_run"]["reason"] == "one_run"
    (user.work / "over").touch()
    assert launcher.wait(30) == 0


AWAY = """
import os
import time
from pathlib import Path

def steps(first, last):
    with open("own.log", "a") as file:
        for i in range(first, last):
            file.write(f"iter {i}: loss 2.0, time 1000ms, mfu 1.00%\\n")

def wait(name):
    while not Path(name).exists():
        time.sleep(0.05)

def seen(name):
    "The launcher has opened it: it looks every second."
    ours = os.stat(name)
    while not any(
        os.path.samestat(ours, os.stat(fd)) for fd in Path(f"/proc/{os.getppid()}/fd").iterdir()
    ):
        time.sleep(0.05)

steps(0, 40)
wait("away")
steps(40, 50)
Path("own.log").rename("own.log.1")
steps(50, 55)
seen("own.log")
Path("own.log").rename("own.log.2")
steps(55, 60)
Path("back").touch()
wait("over")
"""


def _who_listens(place):
    folder = os.open(place.parent, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as asked:
            asked.connect(f"/proc/self/fd/{folder}/{place.name}")
            peer = asked.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    finally:
        os.close(folder)
    return struct.unpack("3i", peer)[0]


def test_of_a_log_that_is_rotated_while_nobody_watches_no_step_is_lost_or_told_twice(
    user, shown, eventually
):
    """Its daemon is away; what was not read stands in a file with another name by then."""
    (user.work / "train.py").write_text(AWAY)
    launcher = user.start_run("--log", "own.log", "--", sys.executable, "train.py")
    eventually(user.records, "a record")
    run, _ = eventually(lambda: shown() if shown()[0].get("steps") == 40 else None, "40 steps")
    [record] = user.records()
    place = user.run_dir(record) / "engine" / "control.sock"
    engine = _who_listens(place)
    os.kill(engine, signal.SIGSTOP)
    place.rename(place.with_name("aside"))
    (user.work / "away").touch()
    eventually((user.work / "back").exists, "the rotation")
    os.kill(engine, signal.SIGKILL)
    run, verdicts = eventually(
        lambda: shown() if shown()[0].get("steps", 0) >= 60 else None, "the steps of both files"
    )
    assert (run["steps"], run["step_seconds"]["n"]) == (60, 59)
    assert verdicts["log_is_one_run"]["reason"] == "one_run"
    (user.work / "over").touch()
    assert launcher.wait(60) == 0
