"""Records on a real disk."""

import pytest

from pfid.adapters.run_records import RunRecords
from pfid.domain.errors import StateError
from pfid.domain.identity import ProcessIdentity
from pfid.formats.steps_file import StepsFileParser
from pfid.trainer import StepReporter
from pfid.wire.record import RecordedStop, RunRecord, recorded

IDENTITY = ProcessIdentity(machine_id="m", boot_id="b", pid=1, start_ticks=2)


def record(run_id="train-1", name="train"):
    return RunRecord(run_id=run_id, name=name, process=recorded(IDENTITY), started_at_s=1.0)


@pytest.fixture
def records(tmp_path):
    return RunRecords(tmp_path)


def test_the_latest_run_of_a_name_is_the_one_pointed_to(records):
    for run_id in ("train-1", "train-2"):
        records.make_run_dir(run_id, 1)
        records.commit(record(run_id))
        records.point_to(record(run_id))
    assert [found.run_id for found in records.latest("train")[0]] == ["train-2"]
    assert records.latest("other") == ([], [])


def test_names_with_the_same_slug_have_their_own_lock_and_pointer(records):
    assert records.lock_file("My run") != records.lock_file("my-run")
    records.make_run_dir("my-run-1", 1)
    records.commit(record("my-run-1", "my-run"))
    records.point_to(record("my-run-1", "my-run"))
    assert records.latest("My run")[0] == []


def test_a_log_has_one_lock_by_whatever_path_and_several_are_taken_in_one_order(records, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "same").symlink_to(tmp_path / "logs")
    one, other = (str(tmp_path / "logs" / name) for name in ("a.log", "b.log"))
    assert records.log_lock_files([one]) == records.log_lock_files([str(tmp_path / "same/a.log")])
    assert records.log_lock_files([one, other]) == records.log_lock_files([other, one, one])
    assert len(records.log_lock_files([one, other])) == 2


def test_without_a_pointer_every_record_of_the_name_is_asked(records):
    records.make_run_dir("train-1", 1)
    records.commit(record())
    assert records.latest("train")[0] == [record()]


def test_a_pointer_out_of_the_folder_is_corrupt_not_followed(records, tmp_path):
    records.make_run_dir("train-1", 1)
    records.commit(record())
    records.point_to(record())
    [pointer] = (tmp_path / "names").glob("*.json")
    pointer.write_text('{"name": "train", "run_id": "../../etc"}')
    found, problems = records.latest("train")
    assert found == [record()]
    assert str(pointer) in problems[0]


def test_the_folder_is_the_users_alone_and_holds_a_step_file_a_rank(records):
    folder = records.make_run_dir("train-1", 3)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert sorted(file.name for file in (folder / "steps").iterdir()) == [
        f"rank-{rank}.jsonl" for rank in range(3)
    ]


def test_a_run_that_never_came_to_be_leaves_nothing(records):
    folder = records.make_run_dir("train-1", 2)
    records.discard_run_dir("train-1")
    assert not folder.exists()


def test_a_folder_that_is_in_the_way_is_said(records, tmp_path):
    (tmp_path / "runs").write_text("a file\n")
    with pytest.raises(StateError, match="cannot make"):
        records.make_run_dir("train-1", 1)


def test_who_stopped_a_run_is_kept(records):
    records.make_run_dir("train-1", 1)
    assert records.stop_of("train-1") is None
    stop = RecordedStop(uid=1, username="u", why="w", at_s=2.0)
    records.commit_stop("train-1", stop)
    assert records.stop_of("train-1") == stop
    (records.run_dir("train-1") / "stop.json").write_text("{")
    assert records.stop_of("train-1") is None


def test_a_write_is_whole_or_not_at_all(records, tmp_path):
    records.make_run_dir("train-1", 1)
    records.commit(record())
    assert [file.name for file in records.run_dir("train-1").iterdir() if file.is_file()] == [
        "record.json"
    ]


def test_a_run_that_shall_report_says_so_in_its_first_step_file(records):
    folder = records.make_run_dir("train-1", 2, instrumented=True)
    first, second = (folder / "steps" / f"rank-{rank}.jsonl" for rank in range(2))
    parser = StepsFileParser()
    assert parser.feed(first.read_bytes()) == []
    assert parser.notes.inside.asked
    assert second.read_bytes() == b""
    assert not records.reported_steps("train-1")


def test_a_step_in_any_rank_is_a_step(records):
    folder = records.make_run_dir("train-1", 2, instrumented=True)
    assert StepReporter(rank=1, environ={"PFID_RUN_DIR": str(folder)}).report() is None
    assert records.reported_steps("train-1")
    assert not records.reported_steps("train-2")
