"""A run that lives while its engine is not up yet: said as what it is, never as "no runs"."""

import os
import subprocess
import time

import msgspec
import pytest

from pfid.adapters.process_identity import capture, machine_id
from pfid.adapters.run_records import RunRecords
from pfid.bootstrap.unanswered import STARTING_S
from pfid.config.paths import engine_dir, run_dir, user_state_dir
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


@pytest.mark.parametrize("how", ["ended by its record", "dead without one"])
def test_a_run_that_is_over_is_not_waited_for(living, pfid, how):
    record, records = living
    if how == "dead without one":
        process = msgspec.structs.replace(record.process, start_ticks=1)
        record = msgspec.structs.replace(record, process=process)
    else:
        end = RecordedEnd(exit_code=0, signal=None, at_s=time.time())
        record = msgspec.structs.replace(record, end=end)
    records.commit(record)
    engine_dir(folder()).mkdir()
    code, _, err = pfid("show", "train")
    assert code == 3
    assert "no daemon answers and this user has no runs" in err
    assert "starting" not in err


def test_the_problem_stands_in_json(living, pfid_json):
    code, printed = pfid_json("status")
    assert code == 3
    assert "its engine is starting" in printed["problems"][0]
