"""``pfid stop`` ends what it means and nothing else, and leaves nothing behind."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from pfid.adapters.process_identity import read_stat
from pfid.bootstrap.stopping import find_target, stop_run
from pfid.domain.errors import LaunchError, ProcessGoneError


def lives(pid):
    try:
        return not read_stat(pid).dead
    except ProcessGoneError:
        return False


@pytest.fixture
def running(user, eventually):
    """Start a shell script as a run and return its launcher and the pids it printed."""

    def begin(script, count=1):
        launcher = user.start_run("--", "sh", "-c", script)
        words = eventually(
            lambda: (found := user.text().split()[6:]) and len(found) >= count and found, "pids"
        )
        return launcher, [int(word) for word in words]

    return begin


def test_a_run_that_listens_to_term_is_stopped(user, running, documented):
    launcher, [pid] = running("echo $$; exec sleep 60")
    done = user.pfid("stop", "train", "--why", "enough", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["schema"] == 1
    assert told.keys() - {"schema"} == documented("`pfid stop`")
    assert (told["killed"], told["leftovers"], told["remaining"]) == (False, 0, 0)
    said = " ".join(launcher.communicate(timeout=30)[1].split())
    assert launcher.returncode == 128 + signal.SIGTERM
    assert "was stopped by " in said
    assert ": enough (killed by signal 15)" in said
    assert not lives(pid)
    [record] = user.records()
    stop = json.loads((user.run_dir(record) / "stop.json").read_text())
    assert (stop["uid"], stop["why"]) == (os.getuid(), "enough")


def test_a_run_that_does_not_listen_is_killed_after_the_grace(user, running):
    launcher, [pid] = running("trap '' TERM; echo $$; while :; do sleep 0.1; done")
    done = user.pfid("stop", "train", "--grace", "0.5")
    assert "is killed" in done.stdout
    assert launcher.wait(30) == 128 + signal.SIGKILL
    assert not lives(pid)


def test_a_stopped_run_is_continued_so_that_it_can_end(user, running):
    launcher, [pid] = running("echo $$; exec sleep 60")
    os.kill(pid, signal.SIGSTOP)
    assert "is stopped" in user.pfid("stop", "train").stdout
    assert launcher.wait(30) == 128 + signal.SIGTERM


def test_what_it_leaves_behind_is_ended_too_even_in_another_session(user, running):
    script = "setsid sleep 61 & echo $!; sh -c 'trap \"\" TERM; sleep 62; sleep 63' & echo $!; wait"
    launcher, pids = running(script, count=2)
    done = user.pfid("stop", "train", "--grace", "1", "--json")
    launcher.wait(30)
    assert json.loads(done.stdout)["leftovers"] >= 2
    assert not any(lives(pid) for pid in pids)


def test_a_run_is_found_by_its_id(user, running):
    launcher, _ = running("echo $$; exec sleep 60")
    [record] = user.records()
    assert user.pfid("stop", record["run_id"]).returncode == 0
    launcher.wait(30)


@pytest.mark.parametrize("wanted", ["nobody", "../../etc", "", "train"])
def test_what_does_not_run_cannot_be_stopped(user, wanted):
    user.run("--", "true")
    done = user.pfid("stop", wanted)
    assert done.returncode == 2
    assert "no run that lives goes by" in done.stderr


def test_a_reused_pid_is_never_signalled(user, running, eventually):
    launcher, [pid] = running("echo $$; exec sleep 60")
    os.kill(pid, signal.SIGKILL)
    launcher.wait(30)
    stranger = user.spawn("sleep", "60")
    [record] = user.records()
    file = user.run_dir(record) / "record.json"
    record["process"]["pid"] = stranger.pid
    record["end"] = None
    file.write_text(json.dumps(record))
    assert user.pfid("stop", "train").returncode == 2
    assert lives(stranger.pid)
    record["process"]["start_ticks"] = read_stat(stranger.pid).start_ticks
    file.write_text(json.dumps(record))
    assert user.pfid("stop", "train").returncode == 0, "the twin: with the right start it is it"
    assert stranger.wait(30) == -signal.SIGTERM


def test_a_launcher_in_its_pause_is_told_not_to_relaunch(user, eventually):
    launcher = user.start_run("--restart", "9", "--", "sh", "-c", "exit 4")
    eventually(
        lambda: [r for r in user.records() if r["attempt"] >= 2 and r["waiting"]], "the pause"
    )
    assert user.pfid("stop", "train").returncode == 0
    assert launcher.wait(30) == 4
    assert Path(f"/proc/{launcher.pid}").exists() is False or launcher.returncode == 4


def test_a_run_that_ends_while_it_is_being_stopped_is_not_launched_again(user, eventually):
    """Found alive, over when it is to be signalled: its launcher is told all the same."""
    launcher = user.start_run("--restart", "9", "--", "sh", "-c", "exit 4")
    eventually(
        lambda: [r for r in user.records() if r["attempt"] >= 2 and r["waiting"]], "the pause"
    )
    target = find_target(user.environ, "train")
    assert target.record is not None
    found_alive = replace(target, record=structs.replace(target.record, waiting=False))
    stop_run(user.environ, found_alive, why="enough", grace_s=1.0, say=lambda _: None)
    assert launcher.wait(30) == 4


def test_a_run_whose_launcher_has_not_noted_its_end_yet_is_stopped(user, eventually):
    """It is over and not yet said to be launched again; it would be, and must not."""
    launcher = user.start_run("--restart", "9", "--", "sleep", "600")
    assert any("(name train" in line for line in launcher.stderr), "it is not launched"
    [record] = user.records()
    pid = record["process"]["pid"]
    launcher.send_signal(signal.SIGSTOP)
    eventually(lambda: read_stat(launcher.pid).state == "T", "a launcher that stands still")
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: read_stat(pid).state == "Z", "a run that is over")
    done = user.pfid("stop", "train")
    launcher.send_signal(signal.SIGCONT)
    assert done.returncode == 0, done.stderr
    assert launcher.wait(60) == 128 + signal.SIGKILL
    assert [r["end"]["signal"] for r in user.records()] == [signal.SIGKILL]


def test_a_launcher_that_left_by_itself_needs_no_telling(user, eventually):
    launcher = user.start_run("--restart", "9", "--", "sh", "-c", "exit 4")
    eventually(
        lambda: [r for r in user.records() if r["attempt"] >= 2 and r["waiting"]], "the pause"
    )
    target = find_target(user.environ, "train")
    launcher.terminate()
    launcher.wait(30)
    stop_run(user.environ, target, why="enough", grace_s=1.0, say=lambda _: None)


def test_a_run_that_is_over_and_has_no_launcher_left_is_not_said_to_be_stopped(user, eventually):
    launcher = user.start_run("--restart", "9", "--", "sh", "-c", "exit 4")
    eventually(
        lambda: [r for r in user.records() if r["attempt"] >= 2 and r["waiting"]], "the pause"
    )
    target = find_target(user.environ, "train")
    assert target.record is not None
    launcher.terminate()
    launcher.wait(30)
    over = replace(target, record=structs.replace(target.record, waiting=False))
    with pytest.raises(LaunchError, match=r"ended|does not run"):
        stop_run(user.environ, over, why="enough", grace_s=1.0, say=lambda _: None)
