"""A launcher that is not pfid appends to a dead run's log: whoever watches says so."""

import json

import pytest

pytestmark = pytest.mark.full

DIES = "echo 'RuntimeError: CUDA error'; exec sleep 60"
LIVES = "echo training begins; exec sleep 60"


@pytest.fixture
def reason(user):
    """What is said of the log of a run."""

    def ask(run_id):
        done = user.pfid("show", run_id, "--json")
        verdicts = json.loads(done.stdout)["verdicts"] if done.stdout else []
        return next((v["reason"] for v in verdicts if v["check"] == "log_is_one_run"), "")

    return ask


@pytest.fixture
def launch(user, eventually):
    """Start a program as a shell script would, then put it under watch."""

    def begin(program, mode):
        with (user.work / "train.log").open(mode) as out:
            process = user.spawn("sh", "-c", program, stdout=out)
        said = program.partition("echo ")[2].partition(";")[0].strip("'")
        eventually(lambda: said in user.text(), "output")
        done = user.pfid("attach", str(process.pid), "--name", "train", "--json")
        assert done.returncode == 0, done.stderr
        return process, json.loads(done.stdout)["run_id"]

    return begin


def end(process):
    process.kill()
    process.wait()


def write(user, text):
    with (user.work / "train.log").open("a") as log:
        log.write(text)


def test_a_relaunch_that_appended_fails_and_one_after_a_rotation_does_not(
    user, launch, eventually, reason
):
    first, run_id = launch(DIES, "a")
    write(user, "one more line\n")
    eventually(lambda: reason(run_id) == "one_run", "a first run is one run")
    end(first)

    second, run_id = launch(LIVES, "a")
    eventually(lambda: reason(run_id) == "older_bytes", "the dead run's text")
    end(second)

    assert user.pfid("rotate", "train.log", "--name", "train").returncode == 0
    third, run_id = launch(LIVES, "a")
    write(user, "one more line\n")
    eventually(lambda: reason(run_id) == "one_run", "a fresh log")
    end(third)


def test_a_relaunch_that_appended_to_a_log_of_pfid_run_fails(user, launch, eventually, reason):
    assert user.run("--", "sh", "-c", "echo 'RuntimeError: CUDA error'; exit 1").returncode == 1
    process, run_id = launch(LIVES, "a")
    eventually(lambda: reason(run_id) == "older_bytes", "the dead run's text")
    end(process)


def test_a_relaunch_that_emptied_the_log_in_place_is_one_run(user, launch, eventually, reason):
    first, _ = launch(DIES, "a")
    end(first)
    second, run_id = launch(LIVES, "w")
    write(user, "one more line\n")
    eventually(lambda: reason(run_id) == "one_run", "nothing older")
    end(second)
