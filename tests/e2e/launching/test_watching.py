"""The launcher hands its run to whoever watches, and again when that changes."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest


@pytest.fixture
def up(watcher, eventually):
    """A watcher that has bound its socket."""
    watcher.start()
    eventually(watcher.socket.exists, "the socket")
    return watcher


def test_the_run_is_registered_with_descriptors_of_process_log_and_step_file(user, up, eventually):
    launcher = user.start_run("--expect-step", "2.5", "--restart", "2", "--", "sleep", "30")
    [registered] = eventually(lambda: up.told("register"), "a registration")
    [record] = user.records()
    request, (pidfd, log, steps) = registered["request"], registered["fds"]
    assert request["roles"] == ["pidfd", "log", "steps"]
    assert request["run_id"] == record["run_id"]
    assert request["start_ticks"] == record["process"]["start_ticks"]
    assert (request["expect_step_s"], request["restarts_left"]) == (2.5, 2)
    assert pidfd["pid"] == record["process"]["pid"]
    assert log["inode"] == (user.work / "train.log").stat().st_ino
    assert log["flags"] & os.O_ACCMODE == os.O_RDONLY
    assert steps["is"] == str(user.run_dir(record) / "steps" / "rank-0.jsonl")
    launcher.terminate()
    assert launcher.wait(30) == 143
    said = launcher.stderr.read()
    assert "is watched by the box's daemon; metrics at http://127.0.0.1:9/metrics" in said
    assert not (user.run_dir(record) / "engine").exists()


@pytest.mark.parametrize(
    ("script", "code", "number"), [("exit 3", 3, None), ("kill -9 $$", None, 9)]
)
def test_the_end_is_reported_with_the_waited_status(user, up, script, code, number):
    user.run("--", "sh", "-c", f"sleep 1; {script}")
    [ended] = up.told("ended")
    assert (ended["request"]["exit_code"], ended["request"]["signal"]) == (code, number)


def test_a_run_shorter_than_a_registration_is_registered_and_reported_all_the_same(user, up):
    user.run("--", "true")
    [registered], [ended] = up.told("register"), up.told("ended")
    assert registered["request"]["run_id"] == ended["request"]["run_id"]
    assert ended["request"]["exit_code"] == 0


def test_a_restarted_daemon_is_told_again_about_the_same_run(user, up, eventually):
    user.start_run("--", "sleep", "30")
    eventually(lambda: len(up.told("register")) == 1, "the first registration")
    up.kill()
    up.start()
    first, second = eventually(
        lambda: up.told("register") if len(up.told("register")) == 2 else None, "the second"
    )
    assert first["request"]["run_id"] == second["request"]["run_id"]
    assert first["fds"][0]["pid"] == second["fds"][0]["pid"]


def test_a_daemon_that_comes_late_is_told_too(user, watcher, eventually):
    user.start_run("--", "sleep", "30")
    eventually(user.records, "a record")
    assert watcher.told("register") == []
    watcher.start()
    assert eventually(lambda: watcher.told("register"), "a registration")


def test_a_trainers_own_log_is_handed_over_when_it_appears_and_when_it_is_replaced(
    user, up, eventually
):
    launcher = user.start_run("--log", "train.log", "--log", "own.jsonl", "--", "sleep", "60")
    eventually(lambda: up.told("register"), "a registration")
    (user.work / "own.jsonl").write_text("{}\n")
    [came] = eventually(lambda: up.told("hand_over"), "the new file")
    assert came["request"]["roles"] == ["log"]
    assert not came["request"]["replace_logs"]
    assert came["fds"][0]["inode"] == (user.work / "own.jsonl").stat().st_ino
    (user.work / "own.jsonl").rename(user.work / "own.1.jsonl")
    (user.work / "own.jsonl").write_text("{}\n{}\n")
    _, replaced = eventually(
        lambda: up.told("hand_over") if len(up.told("hand_over")) == 2 else None, "its successor"
    )
    assert not replaced["request"]["replace_logs"], "the other log stays as it is"
    assert replaced["fds"][0]["inode"] == (user.work / "own.jsonl").stat().st_ino
    [log] = replaced["request"]["logs"]
    assert (log["place"], log["replaces"]) == (1, True)
    old, new = (user.work / name for name in ("own.1.jsonl", "own.jsonl"))
    eventually(lambda: not _holds(launcher.pid, old), "the old one to be let go")
    assert _holds(launcher.pid, new), "for a watcher that comes once it has another name"


def _holds(pid, file):
    held = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            held.append(descriptor.stat().st_ino)
    return file.stat().st_ino in held


def test_a_step_file_of_a_rank_nobody_foresaw_is_handed_over(user, up, eventually):
    user.start_run("--", "sleep", "60")
    eventually(lambda: up.told("register"), "a registration")
    [record] = user.records()
    (user.run_dir(record) / "steps" / "rank-9.jsonl").write_text("")
    [came] = eventually(lambda: up.told("hand_over"), "the step file")
    assert came["request"]["roles"] == ["steps"]
    assert came["fds"][0]["is"].endswith("rank-9.jsonl")


def test_the_watchers_death_does_not_touch_the_run(user, up, eventually):
    launcher = user.start_run("--", "sh", "-c", "until test -e go; do sleep 0.05; done; exit 6")
    eventually(lambda: up.told("register"), "a registration")
    up.kill()
    (user.work / "go").touch()
    assert launcher.wait(30) == 6


def test_each_relaunch_is_registered_as_a_run_of_its_own(user, up):
    user.run("--restart", "1", "--", "sh", "-c", "sleep 0.5; exit 1")
    first, second = (each["request"] for each in up.told("register"))
    assert first["run_id"] != second["run_id"]
    assert (first["attempt"], second["attempt"]) == (1, 2)
    assert [each["request"]["run_id"] for each in up.told("ended")] == [
        first["run_id"],
        second["run_id"],
    ]


def test_a_stop_is_told_to_the_watcher_before_the_first_signal(user, up, eventually):
    launcher = user.start_run("--restart", "3", "--", "sleep", "60")
    eventually(lambda: up.told("register"), "a registration")
    done = user.pfid("stop", "train", "--why", "wrong data", "--json")
    assert done.returncode == 0, done.stderr
    assert launcher.wait(30) == 128 + signal.SIGTERM
    [intent] = up.told("stop_intent")
    assert intent["request"]["why"] == "wrong data"
    assert len(user.records()) == 1, "an operator's stop is not relaunched"
    assert "launched again" not in launcher.stderr.read()


def test_attach_hands_over_a_living_process_with_its_real_start(user, up, eventually):
    log = user.work / "train.log"
    log.write_text("old text\n")
    with log.open("a") as out:
        process = user.spawn("sleep", "60", stdout=out)
    done = user.pfid("attach", str(process.pid), "--name", "train")
    assert done.returncode == 0, done.stderr
    [registered] = up.told("register")
    request, (pidfd, file) = registered["request"], registered["fds"]
    assert request["source"] == "captured"
    assert pidfd["pid"] == process.pid
    assert file["inode"] == log.stat().st_ino
    assert request["logs"][0]["begins_at"] == len("old text\n")
    assert user.run("--", "true").returncode == 125, "its name is taken while it lives"
    assert user.pfid("stop", "train").returncode == 0
    assert process.wait(30) == -signal.SIGTERM
