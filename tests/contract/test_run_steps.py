"""What a run's steps came to, once it is over: from its step files, else from its logs."""

import json
import os

import pytest

from pfid.adapters.file_identity import file_id
from pfid.bootstrap import run_steps as module
from pfid.bootstrap.run_steps import run_steps
from pfid.wire.record import RecordedLog


@pytest.fixture
def steps_dir(tmp_path):
    folder = tmp_path / "steps"
    folder.mkdir()
    return folder


def line(step, seconds=2.0, **more):
    return json.dumps({"step": step, "seconds": seconds, **more}) + "\n"


def lines(n, seconds=2.0, **more):
    return line(1, 9.0, **more) + "".join(line(step, seconds, **more) for step in range(2, n + 2))


def log(path, text, **more):
    path.write_text(text)
    return RecordedLog(path=str(path), **more)


def test_step_files_outrank_a_log_and_rank_zero_outranks_the_others(steps_dir, tmp_path):
    (steps_dir / "rank-0.jsonl").write_text(lines(20, 2.0, rank=0))
    (steps_dir / "rank-1.jsonl").write_text(lines(30, 3.0, rank=1))
    told = run_steps(steps_dir, [log(tmp_path / "a.log", lines(9, 7.0))])
    assert (told.seconds.value["n"], told.seconds.value["p50"]) == (20, 2.0)
    assert told.seconds.value["first"] == 9.0
    assert told.seconds.by.kind == "step_files"
    assert told.problem is None


def test_dynamos_counters_are_summed_as_they_changed(steps_dir):
    text = line(1, dynamo={"graphs": 2, "limit_hits": 1}) + line(2) + line(3, dynamo={"graphs": 1})
    torn = '{"step": 4, "dynamo": {"graphs"'
    (steps_dir / "rank-0.jsonl").write_text(text + line(4, dynamo=[1]) + torn)
    assert run_steps(steps_dir, []).dynamo.value == {"graphs": 3, "limit_hits": 1}


def test_without_reported_steps_the_log_speaks(steps_dir, tmp_path):
    (steps_dir / "rank-0.jsonl").write_text('{"note":"instrumented"}\n')
    told = run_steps(steps_dir, [log(tmp_path / "a.log", lines(20))])
    assert (told.seconds.value["n"], told.seconds.by.kind) == (20, "log")
    assert told.seconds.value["unit"] == "seconds_per_optimizer_step"


def test_only_this_runs_text_counts(steps_dir, tmp_path):
    older = lines(50, 400.0)
    recorded = log(tmp_path / "a.log", older + lines(20), begins_at=len(older))
    assert run_steps(steps_dir, [recorded]).seconds.value["max"] == 2.0


def test_each_way_not_to_tell_is_a_reason(steps_dir, tmp_path, monkeypatch):
    def problem(*logs):
        told = run_steps(steps_dir, list(logs))
        assert told.seconds is None
        return told.problem

    silent = log(tmp_path / "silent.log", "hello\n")
    assert problem(silent) == "no_steps"
    assert problem(RecordedLog(path=str(tmp_path / "gone.log"))) == "log_unreadable"
    assert problem(RecordedLog(path=str(tmp_path))) == "log_not_regular"
    moved = log(tmp_path / "moved.log", lines(9), file_id="1:2:3")
    assert problem(moved) == "log_moved"
    monkeypatch.setattr(module, "READ_MAX_BYTES", 10)
    assert problem(log(tmp_path / "long.log", lines(9))) == "log_too_long"


def test_a_log_is_known_by_its_file_and_not_by_its_path(steps_dir, tmp_path):
    recorded = log(tmp_path / "a.log", lines(9))
    descriptor = os.open(recorded.path, os.O_RDONLY)
    try:
        known = RecordedLog(path=recorded.path, file_id=file_id(descriptor))
    finally:
        os.close(descriptor)
    assert run_steps(steps_dir, [known]).seconds is not None
    (tmp_path / "other").write_text(lines(9, 400.0))
    (tmp_path / "other").replace(tmp_path / "a.log")
    if known.file_id:  # where the file system tells a birth
        assert run_steps(steps_dir, [known]).problem == "log_moved"


def test_a_line_without_an_end_and_bytes_that_are_no_text_stop_nothing(steps_dir):
    with (steps_dir / "rank-0.jsonl").open("wb") as file:
        file.write(lines(20).encode() + b"\xff\xfe\n" + b"x" * 200_000)
    assert run_steps(steps_dir, []).seconds.value["n"] == 20


def test_a_folder_that_is_not_there_holds_no_steps(tmp_path):
    assert run_steps(tmp_path / "no", []).problem == "no_steps"


def figures(steps_dir, text, *logs):
    (steps_dir / "rank-0.jsonl").write_text(text)
    told = run_steps(steps_dir, list(logs))
    return told.seconds and told.seconds.value, told.problem


def test_one_step_is_told_as_a_first_step_without_a_distribution(steps_dir):
    told, problem = figures(steps_dir, line(1, 9.0))
    assert (told["n"], told["first"], told["steps"]) == (0, 9.0, 1)
    assert told["p50"] is told["max"] is told["window"] is None
    assert problem == "too_few_steps"
    hooked, _ = figures(steps_dir, line(1, None, inside_s=0.25))  # no step ended before it
    assert (hooked["first"], hooked["first_inside"]) == (None, 0.25)


def test_a_few_steps_that_nobody_waited_for_are_told_as_elapsed_time(steps_dir):
    one = line(1, None, inside_s=0.01, clock="asynchronous")
    more = "".join(line(step, 0.5, clock="asynchronous") for step in range(2, 11))
    told, problem = figures(steps_dir, one + more)
    assert (told["n"], told["steps"], told["clock"]) == (0, 10, "asynchronous")
    assert told["window"] == {"steps": 9, "seconds": 4.5}
    assert problem == "too_few_steps"


def test_steps_of_which_nobody_tells_a_time_are_none(steps_dir):
    assert figures(steps_dir, line(1, None)) == (None, "too_few_steps")


def test_a_distribution_in_the_log_outranks_one_step_of_a_file(steps_dir, tmp_path):
    told, problem = figures(steps_dir, line(1, 9.0), log(tmp_path / "a.log", lines(20)))
    assert (told["n"], problem) == (20, None)
    few, problem = figures(steps_dir, line(1, 9.0), log(tmp_path / "b.log", line(1, 7.0)))
    assert (few["first"], problem) == (9.0, "too_few_steps")
