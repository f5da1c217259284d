"""A box as its users meet it: one daemon, a run, what every command and the page say about it."""

import json
import os
import re
import signal
import sys
import urllib.request

import pytest

TRAIN = """\
import sys, time
for i in range(100000):
    time.sleep(0.05)
    print(f"iter {i}: loss {3 / (i + 1) + 1:.4f}, time 50.00ms", flush=True)
    if i == int(sys.argv[1]):
        sys.exit(7)
"""


@pytest.fixture
def box(place):
    """A place with a daemon that is ready."""
    place.configure(
        f"""
        [daemon]
        state_directory = "{place.folder / "box"}"
        socket = "{place.folder / "daemon.sock"}"
        [page]
        listen = ["127.0.0.1:0"]
        """
    )
    place.daemon = place.start("daemon")
    place.until("a ready daemon", lambda: '"event": "ready"' in place.said(), 30)
    return place


def train(box, steps: int):
    return box.start(
        *("run", "--name", "walk", "--log", "walk.log", "--"),
        *(sys.executable, "-c", TRAIN, str(steps)),
    )


def page_of(box) -> str:
    """Read the page where ``pfid run`` said that it is."""
    (url,) = set(re.findall(r"http://[\w.:]+/metrics", box.said()))
    with urllib.request.urlopen(url, timeout=5) as answer:
        return answer.read().decode()


def outcome(box, run_id: str, check: str):
    return box.verdict(run_id, check).get("reason")


def steps(box, run_id: str) -> int:
    done = box.pfid("show", run_id, "--json")
    run = json.loads(done.stdout)["run"] if done.stdout else None
    return 0 if run is None else run["steps"]


def test_a_run_is_registered_watched_and_its_death_told_everywhere(box):
    launcher = train(box, 120)
    run_id = box.until("the run", box.run_ids, 20)[-1]
    box.until("steps", lambda: outcome(box, run_id, "step_time_regime") == "normal", 30)
    status = box.json("status")
    assert [run["run_id"] for run in status["runs"]] == [run_id]
    assert [source["kind"] for source in status["sources"]] == ["daemon"]
    assert status["gates"]["proven"] == status["gates"]["checks"] > 0

    assert launcher.wait(60) == 7, box.said()
    box.until("the death", lambda: outcome(box, run_id, "run_gone") == "exited_nonzero", 20)
    told = [
        (event["before"], event["outcome"], event["reason"])
        for event in box.json("events")["events"]
        if event["check"] == "run_gone" and event["entity"]["id"] == run_id
    ]
    assert told == [(None, "pass", "running"), ("pass", "fail", "exited_nonzero")]
    assert box.pfid("status").returncode == 1
    for line in (
        f'pfid_check_failing{{check="run_gone",run="{run_id}"}} 1.0',
        f'pfid_run_exit_code{{run="{run_id}"}} 7.0',
    ):
        box.until(line, lambda line=line: line in page_of(box).splitlines(), 20)


def test_a_run_outlives_the_daemon_and_the_next_daemon_knows_it(box):
    train(box, 100_000)
    run_id = box.until("the run", box.run_ids, 20)[-1]
    box.until("the run", lambda: outcome(box, run_id, "run_gone") == "running", 20)
    before = box.json("show", run_id)["run"]
    os.kill(box.daemon.pid, signal.SIGKILL)
    box.daemon.wait()
    box.daemon = box.start("daemon")
    box.until("its steps", lambda: steps(box, run_id) > before["steps"] + 20, 40)
    again = box.json("show", run_id)["run"]
    assert (again["pid"], again["started"]) == (before["pid"], before["started"])
    stopped = box.json("stop", run_id, "--why", "done looking")
    assert stopped["remaining"] == 0
    box.until("its end", lambda: outcome(box, run_id, "run_gone") == "stopped_by_operator", 20)
    run_gone = [e for e in box.json("events")["events"] if e["check"] == "run_gone"]
    assert [e["reason"] for e in run_gone] == ["running", "stopped_by_operator"]
