"""A run's files by path: what is new, what was replaced, what is no file."""

import os
import threading
from contextlib import suppress

import pytest

from pfid.adapters.run_files import KEPT_MAX, RunFilesByPath
from pfid.wire.control import HandedLog, Role
from pfid.wire.record import RecordedLog


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "steps").mkdir()
    return tmp_path


def files(folder, *names, begins_at=0):
    logs = [RecordedLog(path=str(folder / name), begins_at=begins_at) for name in names]
    return RunFilesByPath(logs, folder / "steps")


def told(opened):
    found = [(file.role, os.fstat(file.descriptor).st_ino, file.handed) for file in opened]
    for file in opened:
        with suppress(OSError):
            os.close(file.descriptor)
    return [(role, inode) for role, inode, _ in found]


def inode(path):
    return path.stat().st_ino


def test_what_exists_is_opened_logs_first(folder):
    (folder / "a.log").touch()
    (folder / "steps/rank-0.jsonl").touch()
    assert told(files(folder, "a.log", "absent.log").open_all()) == [
        (Role.LOG, inode(folder / "a.log")),
        (Role.STEPS, inode(folder / "steps/rank-0.jsonl")),
    ]


def test_nothing_new_is_nothing(folder):
    (folder / "a.log").touch()
    it = files(folder, "a.log")
    told(it.open_all())
    news = it.news()
    assert (list(news.added), list(news.logs_replaced)) == ([], [])


def test_what_comes_later_is_told_once(folder):
    it = files(folder, "a.log")
    told(it.open_all())
    (folder / "a.log").touch()
    (folder / "steps/rank-3.jsonl").touch()
    assert [role for role, _ in told(it.news().added)] == [Role.LOG, Role.STEPS]
    assert list(it.news().added) == []


def test_of_several_logs_the_replaced_one_alone_comes_again_and_begins_at_its_start(folder):
    (folder / "a.log").write_text("old\n")
    (folder / "b.log").write_text("b\n")
    it = files(folder, "a.log", "b.log", begins_at=2)
    opened = it.open_all()
    handed = [(file.handed.place, file.handed.replaces) for file in opened]
    assert handed == [(0, False), (1, False)]
    told(opened)
    (folder / "b.log").rename(folder / "b.1.log")
    assert list(it.news().logs_replaced) == [], "it is gone, nothing took its place yet"
    (folder / "b.log").write_text("new\n")
    news = it.news()
    [replaced] = news.logs_replaced
    assert replaced.handed == HandedLog(place=1, replaces=True)
    assert not news.all_logs_replaced
    assert told(news.logs_replaced) == [(Role.LOG, inode(folder / "b.log"))]
    assert list(it.news().logs_replaced) == []


def test_a_run_whose_only_log_is_replaced_has_all_its_logs_replaced(folder):
    (folder / "a.log").touch()
    it = files(folder, "a.log")
    told(it.open_all())
    assert not it.news().all_logs_replaced
    (folder / "a.log").rename(folder / "a.1.log")
    (folder / "a.log").write_text("new\n")
    news = it.news()
    assert news.all_logs_replaced
    told(news.logs_replaced)


@pytest.mark.parametrize("what", ["fifo", "folder"])
def test_what_is_no_regular_file_is_neither_opened_nor_waited_for(folder, what):
    os.mkfifo(folder / "a.log") if what == "fifo" else (folder / "a.log").mkdir()
    assert files(folder, "a.log").open_all() == []


def test_a_rotation_is_told_while_watched_and_not_after(folder):
    log = folder / "train.log"
    log.touch()
    changed = threading.Event()
    with files(folder, "train.log").watched(changed.set):
        log.rename(folder / "train.log.1")
        log.touch()
        assert changed.wait(30)
        changed.clear()
    log.rename(folder / "train.log.2")
    log.touch()
    assert not changed.wait(0.3)


def _rotated(folder, name, times, *, begin="0"):
    """A log that is rotated so often; each file says which it was."""
    log = folder / name
    log.write_text(begin)
    for number in range(1, times + 1):
        log.rename(folder / f"{name}.{number}")
        log.write_text(str(number))
        yield number


def _texts(opened):
    found = [os.pread(file.descriptor, 10, 0).decode() for file in opened]
    for file in opened:
        os.close(file.descriptor)
    return found


def test_what_a_watcher_that_was_away_had_not_read_is_handed_over_before_what_took_its_place(
    folder,
):
    turns = _rotated(folder, "a.log", 3, begin="old text")
    it = files(folder, "a.log", begins_at=4)
    (folder / "a.log").write_text("old text")
    told(it.open_all())
    for _ in turns:
        it.look()
    [first] = it.open_all()
    assert first.handed == HandedLog(begins_at=4, place=0)
    news = it.news()
    assert _texts([first, *news.logs_replaced]) == ["old text", "1", "2", "3"]
    assert {file.handed.replaces for file in news.logs_replaced} == {True}
    assert list(it.news().logs_replaced) == [], "once"
    it.close()


def test_what_nobody_took_is_kept_and_what_was_taken_is_not(folder):
    (folder / "a.log").write_text("0")
    it = files(folder, "a.log", begins_at=1)
    told(it.open_all())
    open_files = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for number in _rotated(folder, "a.log", 2):
        assert _texts(it.news().logs_replaced) == [str(number)]
    first = it.open_all()
    assert _texts([*first, *it.news().logs_replaced]) == ["0", "1", "2"], "not all was taken"
    it.taken()
    [last] = it.open_all()
    assert last.handed == HandedLog(place=0), "nothing in it is older than the run"
    assert _texts([last]) == ["2"]
    assert len(os.listdir("/proc/self/fd")) == open_files  # noqa: PTH208
    it.close()
    assert len(os.listdir("/proc/self/fd")) == open_files - 1  # noqa: PTH208


def test_of_a_log_that_is_rotated_again_and_again_unwatched_the_newest_are_kept(folder):
    (folder / "a.log").write_text("0")
    it = files(folder, "a.log", begins_at=1)
    told(it.open_all())
    for _ in _rotated(folder, "a.log", KEPT_MAX + 2):
        it.look()
    first = it.open_all()
    assert first[0].handed == HandedLog(place=0), "the one that was there first is gone"
    kept = _texts([*first, *it.news().logs_replaced])
    assert kept == [str(number) for number in range(3, KEPT_MAX + 3)]
    it.close()


def test_a_new_file_that_the_run_does_not_write_to_takes_no_place(folder):
    log = folder / "a.log"
    log.write_text("0")
    it = files(folder, "a.log")
    told(it.open_all())
    for number in range(2):
        log.rename(folder / f"a.log.{number}")
        log.touch()
        assert list(it.news().logs_replaced) == [], "nothing stands in it"
        it.taken()
    [first] = it.open_all()
    assert _texts([first]) == ["0"], "a watcher that comes later is told the old one as well"
    assert list(it.news().logs_replaced) == []
    log.write_text("1")
    assert _texts(it.news().logs_replaced) == ["", "1"]
    it.close()
