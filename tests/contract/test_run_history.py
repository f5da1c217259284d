"""What a user's runs leave to later ones, on a real disk."""

import multiprocessing
import os
import resource
import signal

import msgspec
import pytest

from pfid.adapters.run_history import FULL_BYTES, KEPT, RunHistory
from pfid.domain.step_summary import Baseline, BaselineSource
from pfid.policy.baseline import EarlierRun


def ran(run_id, median_s=20.0, *, passed=True, at_s=0.0):
    baseline = Baseline(median_s=median_s, source=BaselineSource.OWN_EARLY_STEPS, n=64)
    return EarlierRun(baseline=baseline, ended_at_s=at_s, passed=passed, run_id=run_id)


@pytest.fixture
def history(tmp_path):
    return RunHistory(tmp_path / "history")


def medians(history, name="train", fingerprint="work"):
    return [run.baseline.median_s for run in history.find(name, fingerprint)]


def test_a_run_is_found_by_name_and_work_alone(history):
    assert history.add("train", "work", ran("a")) == ""
    assert history.find("train", "work") == (ran("a"),)
    assert history.find("train", "other") == history.find("other", "work") == ()


def test_of_what_a_run_left_several_times_the_last_counts(history):
    for seconds in (1.0, 2.0, 3.0):
        history.add("train", "work", ran("a", seconds))
    history.add("train", "work", ran("b", 9.0))
    assert medians(history) == [3.0, 9.0]
    history.add("train", "work", ran("b", passed=False))
    assert medians(history) == [3.0], "it was slow in the end"


def test_many_runs_that_say_nothing_hide_none_that_does(history, tmp_path):
    history.add("train", "work", ran("good", 7.0))
    for number in range(600):
        history.add("train", "work", ran(f"bad-{number}", passed=False))
        history.add("train", f"work of {number}", ran(f"other-{number}"))
    [file] = (tmp_path / "history").iterdir()
    assert file.stat().st_size <= FULL_BYTES + 1_000
    history.add("train", "work", ran("last", 8.0))
    assert medians(history)[-1] == 8.0


def test_a_file_made_shorter_keeps_the_newest_of_the_work_that_goes_on(history, tmp_path):
    for number in range(1_000):
        history.add("train", "work", ran(f"r{number}", float(number + 1)))
    [file] = (tmp_path / "history").iterdir()
    assert file.stat().st_size <= FULL_BYTES + 1_000
    assert medians(history) == [float(n + 1) for n in range(1_000 - KEPT, 1_000)]


def _adds(folder, who, runs):
    history = RunHistory(folder)
    for number in range(runs):
        assert history.add("train", who, ran(f"{who}-{number}", float(number + 1))) == ""


def test_engines_that_write_while_another_makes_the_file_shorter_lose_no_line(history, tmp_path):
    """Each adds enough to fill the file several times over."""
    runs = 400
    folder = tmp_path / "history"
    context = multiprocessing.get_context("fork")
    writers = [
        context.Process(target=_adds, args=(folder, who, runs)) for who in ("one", "two", "three")
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    for who in ("one", "two", "three"):
        newest = [float(n + 1) for n in range(runs - KEPT, runs)]
        assert medians(history, fingerprint=who) == newest


def test_a_line_cut_off_by_a_full_disk_is_said_and_costs_none_but_itself(history, tmp_path):
    history.add("train", "work", ran("a", 1.0))
    [file] = (tmp_path / "history").iterdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 40, limits[1]))
        said = history.add("train", "work", ran("b", 2.0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert "history of train cannot be kept" in said
    assert str(tmp_path / "history") in said
    assert b'{"name"' in file.read_bytes().splitlines()[-1], "some of it was written"
    assert history.add("train", "work", ran("c", 3.0)) == ""
    assert medians(history) == [1.0, 3.0]


@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_cannot_be_opened_is_said(history, tmp_path, what):
    folder = tmp_path / "history"
    if what == "folder":
        folder.write_text("no folder")
    else:
        history.add("train", "work", ran("a"))
        [file] = folder.iterdir()
        file.unlink()
        file.mkdir()
    assert "cannot be kept" in history.add("train", "work", ran("b"))
    assert history.find("train", "work") == ()


def test_lines_that_are_none_are_passed_over(history, tmp_path):
    history.add("train", "work", ran("a", 1.0))
    [file] = (tmp_path / "history").iterdir()
    with file.open("ab") as out:
        out.write(b"\xff\xfe\nnull\n[]\n{}\n" + os.urandom(100) + b"\n")
    history.add("train", "work", ran("b", 2.0))
    assert medians(history) == [1.0, 2.0]


def test_a_line_of_an_older_pfid_that_does_not_say_whose_it_is_counts_by_itself(history, tmp_path):
    history.add("train", "work", ran("a", 1.0))
    [file] = (tmp_path / "history").iterdir()
    line = msgspec.json.decode(file.read_bytes())
    del line["left"]["run_id"]
    file.write_bytes(msgspec.json.encode(line) + b"\n" + msgspec.json.encode(line) + b"\n")
    history.add("train", "work", ran("b", 2.0))
    assert medians(history) == [1.0, 1.0, 2.0]
