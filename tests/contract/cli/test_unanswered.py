"""A run whose engine is not up yet, or never was: said as what it is, never as "no runs"."""

import os
import subprocess
import time

import msgspec
import pytest

from pfid.adapters.process_identity import capture, machine_id
from pfid.adapters.run_records import RunRecords
from pfid.bootstrap.unanswered import STARTING_S
from pfid.config.paths import engine_dir, engine_socket, run_dir, user_state_dir
from pfid.wire.record import RecordedEnd, RunRecord, recorded


@pytest.fixture
def living(no_daemon):
    """A recorded run whose process is a real one, with nothing of an engine."""
    process = subprocess.Popen(["sleep", "60"])
    held = capture(process.pid)
    os.close(held.pidfd)
    records = RunRecords(user_state_dir(os.environ, machine_id()))
    records.make_run_dir("train-0009", 1)
    record = RunRecord(
        run_id="train-0009",
        name="train",
        process=recorded(held.identity),
        started_at_s=time.time(),
    )
    records.commit(record)
    records.point_to(record)
    yield record, records
    process.kill()
    process.wait()


def folder():
    return run_dir(os.environ, machine_id(), "train-0009")


@pytest.mark.parametrize("wanted", ["train", "train-0009", "train-0"])
@pytest.mark.parametrize("stage", ["no folder", "empty folder", "empty state"])
def test_an_engine_that_is_starting_is_said(living, pfid, wanted, stage):
    if stage != "no folder":
        engine_dir(folder()).mkdir()
    if stage == "empty state":
        (engine_dir(folder()) / "pfid.sqlite").touch()
    code, out, err = pfid("show", wanted)
    assert (code, out) == (3, "")
    assert "train-0009 is running" in err
    assert "its engine is starting" in err
    assert "no runs" not in err


@pytest.mark.parametrize("command", [["status"], ["events"], ["report", "train"]])
def test_every_command_that_asks_says_it(living, pfid, command):
    code, _, err = pfid(*command)
    assert code == 3
    assert "its engine is starting" in err
    assert "no runs" not in err


def test_long_after_the_start_it_is_no_longer_called_starting(living, pfid):
    record, records = living
    engine_dir(folder()).mkdir()
    records.commit(
        msgspec.structs.replace(record, started_at_s=record.started_at_s - STARTING_S - 1)
    )
    code, _, err = pfid("show", "train")
    assert code == 3
    assert "nobody who watches it answers" in err
    assert "engine.log" in err.replace("\n", "")


def test_another_runs_name_is_still_an_unknown_one(living, pfid, left_behind, make):
    left_behind(make.ended("other-0001"))
    code, _, err = pfid("show", "nothing")
    assert code == 2
    assert "no run 'nothing'" in err


def over(living, *, ago_s=0.0):
    """The run has failed, and its launcher has noted that."""
    record, records = living
    end = RecordedEnd(exit_code=1, signal=None, at_s=time.time() - ago_s)
    records.commit(msgspec.structs.replace(record, end=end))
    engine_dir(folder()).mkdir()


@pytest.mark.parametrize("command", [["status"], ["show", "train"], ["events"]])
@pytest.mark.parametrize(
    ("ago_s", "said"),
    [(0.0, "its engine has not heard of it yet"), (STARTING_S + 1, "nobody watched it")],
)
def test_a_failure_that_no_engine_knows_is_said(living, pfid, command, ago_s, said):
    over(living, ago_s=ago_s)
    code, out, err = pfid(*command)
    assert (code, out) == (3, "")
    assert "train-0009 ended (exit status 1)" in err
    assert said in err
    assert "no runs" not in err


def test_a_run_that_is_dead_without_a_word_is_said(living, pfid):
    record, records = living
    process = msgspec.structs.replace(record.process, start_ticks=1)
    records.commit(msgspec.structs.replace(record, process=process))
    engine_dir(folder()).mkdir()
    code, _, err = pfid("status")
    assert code == 3
    assert "train-0009 is over and nobody saw how it ended" in err


def test_a_run_whose_launcher_still_waits_is_not_called_unseen(living, pfid):
    record, records = living
    over = msgspec.structs.replace(record.process, start_ticks=1)
    records.commit(msgspec.structs.replace(record, process=over, launcher=record.process))
    engine_dir(folder()).mkdir()
    code, _, err = pfid("status")
    assert code == 3
    assert "its launcher is about to tell how it ended" in err
    assert "nobody saw" not in err


def test_beside_a_run_that_is_fine_the_unheard_failure_is_no_success(
    living, pfid, left_behind, make
):
    left_behind(make.ended("other-0001", exit_code=0))
    over(living)
    code, _, err = pfid("status")
    assert code == 3
    assert "train-0009 ended" in err


def test_an_older_run_is_not_shown_for_the_latest_of_its_name(living, pfid, left_behind, make):
    left_behind(make.ended("train-0001", ago_s=10.0))
    over(living)
    code, out, err = pfid("show", "train")
    assert (code, out) == (3, "")
    assert "train-0009 ended" in err
    assert pfid("show", "train-0001")[0] != 3


def test_an_earlier_run_that_nobody_watched_is_history(living, pfid, left_behind, make):
    record, records = living
    over(living)
    left_behind(make.ended("train-0010", exit_code=0))
    records.make_run_dir("train-0010", 0)
    records.point_to(msgspec.structs.replace(record, run_id="train-0010"))
    records.commit(msgspec.structs.replace(record, run_id="train-0010"))
    assert "train-0009" not in pfid("status")[2]


def test_the_problem_stands_in_json(living, pfid_json):
    code, printed = pfid_json("status")
    assert code == 3
    assert "its engine is starting" in printed["problems"][0]


@pytest.mark.parametrize("command", [["status"], ["show", "train"], ["events"]])
def test_an_engine_that_was_never_told_of_its_run_does_not_hide_it(
    living, pfid, answering, make, command
):
    socket = engine_socket(folder())
    socket.parent.mkdir()
    answering(make.snapshot(), place=socket)
    code, _, err = pfid(*command)
    assert code == 3
    assert "train-0009 is running" in err


def test_an_engine_that_was_killed_before_it_had_read_all_is_said(pfid, left_behind, make):
    left_behind(make.ended("train-0001", exit_code=0), final=False)
    left_behind(make.ended("train-0002", exit_code=0))
    for command in (["status"], ["show", "train-0001"]):
        _, out, err = pfid(*command)
        assert "train-0001" in out
        assert "train-0001 ended, and its engine before" in err
        assert "train-0002 ended" not in err
    assert pfid("status")[0] == 3
