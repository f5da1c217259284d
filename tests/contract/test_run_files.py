"""A run's files by path: what is new, what was replaced, what is no file."""

import os
import threading
from contextlib import suppress

import pytest

from pfid.adapters.run_files import RunFilesByPath
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
    (folder / "a.log").touch()
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
