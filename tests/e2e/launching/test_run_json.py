"""``pfid run --json``: one object when the run is over, whatever came of it."""

import json
import os
import subprocess
import sys

import pytest

PFID = (sys.executable, "-P", "-m", "pfid")


def test_the_childs_output_goes_to_the_log_and_one_object_to_stdout(user, documented):
    done = user.run("--json", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert done.returncode == 3
    told = json.loads(done.stdout)
    assert told["schema"] == 1
    assert told.keys() - {"schema"} == documented("`pfid run`")
    assert (told["name"], told["exit_status"], told["problem"]) == ("train", 3, None)
    [attempt] = told["attempts"]
    assert attempt.keys() == documented("attempt of `pfid run`")
    [record] = user.records()
    assert attempt["run_id"] == record["run_id"]
    assert (attempt["pid"], attempt["exit_code"], attempt["signal"]) == (
        record["process"]["pid"],
        3,
        None,
    )
    assert attempt["logs"] == [{"path": str(user.work / "train.log"), "rotated_to": None}]
    assert attempt["ended"] >= attempt["started"]
    assert user.text().splitlines()[1:] == ["out", "err"]


def test_a_death_by_signal_is_told_as_one(user):
    done = user.run("--json", "--", "sh", "-c", "kill -9 $$")
    told = json.loads(done.stdout)
    assert (done.returncode, told["exit_status"]) == (137, 137)
    assert (told["attempts"][0]["exit_code"], told["attempts"][0]["signal"]) == (None, 9)


def test_every_attempt_of_a_relaunched_run_is_in_it(user):
    done = user.run("--json", "--restart", "1", "--", "sh", "-c", "exit 1")
    attempts = json.loads(done.stdout)["attempts"]
    assert [a["attempt"] for a in attempts] == [1, 2]
    assert len({a["run_id"] for a in attempts}) == 2
    assert attempts[1]["logs"][0]["rotated_to"] == str(user.rotated()[0])


def test_a_refusal_is_an_object_too(user, eventually):
    launcher = user.start_run("--", "sh", "-c", "echo up; sleep 30")
    eventually(lambda: "up" in user.text(), "output")
    refused = user.run("--json", "--", "true")
    told = json.loads(refused.stdout)
    assert (refused.returncode, told["exit_status"], told["attempts"]) == (125, 125, [])
    assert "already running as" in told["problem"]
    launcher.terminate()
    launcher.wait(20)


@pytest.mark.parametrize(("command", "status"), [("/nonexistent/x", 127), ("/etc/passwd", 126)])
def test_a_command_that_cannot_be_executed_is_told(user, command, status):
    done = user.run("--json", "--", command)
    told = json.loads(done.stdout)
    assert (done.returncode, told["exit_status"], told["attempts"]) == (status, status, [])
    assert told["problem"]


def test_a_reader_that_left_does_not_change_the_exit_status(user):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PFID, "run", "--name", "train", "--json", "--", "sh", "-c", "exit 3"],
        cwd=user.work,
        env=user.environ,
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 3, done.stderr
    assert b"Traceback" not in done.stderr
    assert b"Broken" not in done.stderr


def test_an_option_behind_the_command_is_the_commands(user):
    done = user.run("--", "sh", "-c", 'echo "$@"', "sh", "--json")
    assert done.stdout == ""
    assert user.text().splitlines()[1:] == ["--json"]
