"""A daemon killed by systemd's own rules: what it watched is watched on, what ended is known."""

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.root,
    pytest.mark.needs("systemd-nspawn"),
]

UNIT = "pfid.service"
PYTHON = "/opt/pfid/bin/python"


def attach(box, name, status):
    """A training that nobody of pfid's launched, watched by `pfid attach` of its user."""
    log = f"/home/alice/{name}.log"
    box.unit("alice", name, PYTHON, "train.py", name, str(status), output=log)
    pid = box.show(f"{name}.service", "MainPID")
    said = box.json("alice", "attach", pid, "--name", name, "--log", f"{name}.log")
    assert said["pid"] == int(pid)
    return said["run_id"]


def steps(box, name):
    return box.run_named("alice", name).get("steps") or 0


def kill_daemon(box):
    """SIGKILL, and prove that it was this that ended it."""
    pid = box.main_pid()
    box.root("kill", "-KILL", str(pid))
    box.until("its death", lambda: box.main_pid() != pid, 10)
    return pid


def come_back(box, pid):
    box.until(
        "the daemon back",
        lambda: box.show(UNIT, "ActiveState") == "active" and box.main_pid() not in (0, pid),
        60,
    )


def test_after_kill_9_it_is_back_and_has_lost_nothing(box):
    run_id = attach(box, "kept", 0)
    before = box.until("steps", lambda: (n := steps(box, "kept")) > 40 and n, 30)
    first = box.run_named("alice", "kept")
    pid = kill_daemon(box)
    come_back(box, pid)
    assert int(box.show(UNIT, "NRestarts")) >= 1
    again = box.run_named("alice", "kept")
    assert (again["run_id"], again["pid"], again["started"]) == (
        run_id,
        first["pid"],
        first["started"],
    )
    box.until("more steps", lambda: steps(box, "kept") > before + 10, 30)
    box.user("alice", "touch", "kept.end")
    box.until("its end", lambda: box.run_named("alice", "kept")["end"], 30)
    written = int(box.user("alice", "wc", "-l", "kept.log").stdout.split()[0])
    begun = written - box.run_named("alice", "kept")["steps"]
    assert 0 <= begun < before, "steps were lost or counted twice"
    gone = [
        (event["before"], event["reason"])
        for event in box.json("alice", "events")["events"]
        if event["check"] == "run_gone" and event["entity"]["id"] == run_id
    ]
    assert len(gone) == len(set(gone)) == 2, gone


def test_a_run_that_exits_7_while_the_daemon_is_down_is_reported_with_7(box):
    attach(box, "seven", 7)
    box.until("steps", lambda: steps(box, "seven") > 5, 30)
    pid = kill_daemon(box)
    box.user("alice", "touch", "seven.end")
    box.until("its end", lambda: box.show("seven.service", "ExecMainStatus") == "7", 10)
    come_back(box, pid)
    ended = int(box.show("seven.service", "ExecMainExitTimestampMonotonic"))
    started = int(box.show(UNIT, "ExecMainStartTimestampMonotonic"))
    assert 0 < ended < started, "the run ended under a daemon that was up"
    told = box.until("its end", lambda: box.run_named("alice", "seven")["end"], 30)
    assert (told["exit_code"], told["kind"]) == (7, "exited")
    written = int(box.user("alice", "wc", "-l", "seven.log").stdout.split()[0])
    box.until(
        "the last step", lambda: box.run_named("alice", "seven")["last_step"] == written - 1, 20
    )


def test_descriptors_of_runs_that_ended_are_given_back(box):
    box.until("an empty store", lambda: box.show(UNIT, "NFileDescriptorStore") == "0", 60)
    attach(box, "stored", 0)
    box.until("steps", lambda: steps(box, "stored") > 0, 30)
    assert int(box.show(UNIT, "NFileDescriptorStore")) == 2, "a pidfd and a log"
    box.user("alice", "touch", "stored.end")
    box.until("an empty store", lambda: box.show(UNIT, "NFileDescriptorStore") == "0", 60)
