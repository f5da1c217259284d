"""Without a daemon a run has an engine of its own: the real one, from start to last verdict."""

import json
import os
import signal
from pathlib import Path

import pytest

pytestmark = pytest.mark.full


def engines(record):
    """Pids of the engine of a run, by the folder it was started for."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        ours = any(word.endswith(record["run_id"].encode()) for word in words)
        if ours and {b"--embedded", b"embedded"} & set(words):
            found.append(int(entry.name))
    return found


@pytest.fixture
def shown(user):
    """Ask pfid about a run."""

    def ask(record):
        done = user.pfid("show", record["run_id"], "--json")
        return json.loads(done.stdout) if done.stdout else {}

    return ask


@pytest.fixture
def reason(shown):
    """Reason of one check's verdict about a run, "" while there is none."""

    def ask(record, check):
        verdicts = shown(record).get("verdicts", [])
        return next((each["reason"] for each in verdicts if each["check"] == check), "")

    return ask


@pytest.fixture
def watched(user, eventually, reason):
    """A run that its engine watches; returns launcher and record."""

    def begin(*arguments):
        launcher = user.start_run(*arguments)
        [record] = eventually(user.records, "a record")
        eventually(lambda: reason(record, "run_gone") == "running", "a verdict")
        return launcher, record

    return begin


def test_its_engine_is_no_part_of_the_runs_tree_and_watches_the_captured_process(
    watched, shown, eventually
):
    launcher, record = watched("--", "sleep", "60")
    [engine] = eventually(lambda: engines(record), "the engine")
    parent = int(Path(f"/proc/{engine}/stat").read_text().rpartition(")")[2].split()[1])
    assert parent not in {launcher.pid, record["process"]["pid"]}
    assert shown(record)["run"]["pid"] == record["process"]["pid"]


def test_a_launcher_killed_leaves_run_and_engine_and_the_end_is_seen(watched, eventually, reason):
    launcher, record = watched("--", "sleep", "60")
    launcher.kill()
    launcher.wait()
    assert reason(record, "run_gone") == "running"
    os.kill(record["process"]["pid"], signal.SIGKILL)
    eventually(lambda: reason(record, "run_gone") == "killed_by_signal", "the verdict")


def test_an_engine_killed_is_started_again_and_the_run_never_noticed(
    watched, eventually, comm, reason
):
    _, record = watched("--", "sleep", "60")
    [first] = engines(record)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: [pid for pid in engines(record) if pid != first], "another engine")
    eventually(lambda: reason(record, "run_gone") == "running", "a verdict of its")
    assert comm(record["process"]["pid"]) == "sleep"


def test_a_run_shorter_than_its_engines_start_is_still_judged(user, eventually, reason):
    assert user.run("--", "sh", "-c", "exit 9").returncode == 9
    [record] = user.records()
    eventually(lambda: reason(record, "run_gone") == "exited_nonzero", "the verdict")


def test_an_operators_stop_is_no_alarm(watched, user, eventually, reason):
    launcher, record = watched("--", "sleep", "60")
    assert user.pfid("stop", "train", "--why", "enough").returncode == 0
    launcher.wait(30)
    eventually(lambda: reason(record, "run_gone") == "stopped_by_operator", "the verdict")


def test_attach_without_a_daemon_leaves_an_engine_behind(user, eventually, reason, documented):
    process = user.spawn("sleep", "60")
    done = user.pfid("attach", str(process.pid), "--name", "train", "--json")
    assert done.returncode == 0, done.stderr
    [record] = user.records()
    printed = json.loads(done.stdout)
    assert printed.keys() - {"schema"} == documented("`pfid attach`")
    assert printed["run_id"] == record["run_id"]
    assert printed["started"].endswith("Z")
    eventually(lambda: reason(record, "run_gone") == "running", "a verdict")
    process.kill()
    process.wait()
    eventually(lambda: reason(record, "run_gone") == "killed_by_signal", "the verdict")
