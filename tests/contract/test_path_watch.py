"""A rotated log is noticed, by inotify and where inotify tells nothing by looking."""

import contextlib
import os
import queue
import resource
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pfid.adapters import path_watch
from pfid.adapters.path_watch import PathWatch

WAIT_S = 30.0
Watch = Callable[..., "queue.SimpleQueue[Path]"]


@pytest.fixture(params=["inotify", "polling"])
def watch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Watch paths in the way under test; yields a queue of what was said."""
    polling = request.param == "polling"
    if polling:
        monkeypatch.setattr(path_watch, "_tells", lambda _folder: False)
    with ExitStack() as running:

        def start(*paths: Path) -> "queue.SimpleQueue[Path]":
            said: queue.SimpleQueue[Path] = queue.SimpleQueue()
            # Without polling nothing is looked at by itself: what is said, inotify told.
            watching = PathWatch(paths, said.put, poll_s=0.05 if polling else 3600.0)
            running.callback(watching.close)
            assert watching.polled == (set(paths) if polling else set())
            return said

        yield start


def test_a_log_replaced_by_rename_and_a_new_file_is_said(watch: Watch, tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text("old\n")
    said = watch(log)
    log.rename(tmp_path / "train.log.1")
    log.write_text("new\n")
    assert said.get(timeout=WAIT_S) == log


def test_a_log_replaced_in_one_rename_is_said(watch: Watch, tmp_path: Path):
    log = tmp_path / "train.log"
    log.write_text("old\n")
    said = watch(log)
    (tmp_path / "next").write_text("new\n")
    (tmp_path / "next").replace(log)
    assert said.get(timeout=WAIT_S) == log


def test_a_log_that_appears_later_is_said(watch: Watch, tmp_path: Path):
    log = tmp_path / "train.log"
    said = watch(log)
    log.touch()
    assert said.get(timeout=WAIT_S) == log


def test_every_replacement_is_said(watch: Watch, tmp_path: Path):
    log = tmp_path / "train.log"
    log.touch()
    said = watch(log)
    for turn in range(3):
        log.rename(tmp_path / f"train.log.{turn}")
        log.touch()
        assert said.get(timeout=WAIT_S) == log


def test_growth_truncation_and_other_files_are_no_news(watch: Watch, tmp_path: Path):
    log, other = tmp_path / "train.log", tmp_path / "other.log"
    log.write_text("old\n")
    said = watch(log, other)
    with log.open("a") as growing:
        growing.write("more\n")
    os.truncate(log, 0)
    (tmp_path / "unrelated").touch()
    other.touch()
    assert said.get(timeout=WAIT_S) == other, "the only news is the path that appeared"
    assert said.empty()


def test_a_log_that_is_only_gone_is_no_news_until_the_next_one_comes(watch: Watch, tmp_path: Path):
    log, other = tmp_path / "train.log", tmp_path / "other.log"
    log.touch()
    said = watch(log, other)
    log.rename(tmp_path / "train.log.1")
    other.touch()
    assert said.get(timeout=WAIT_S) == other
    assert said.empty()
    log.touch()
    assert said.get(timeout=WAIT_S) == log


def test_two_logs_of_one_folder_are_told_apart(watch: Watch, tmp_path: Path):
    first, second = tmp_path / "a.log", tmp_path / "b.log"
    said = watch(first, second)
    second.touch()
    assert said.get(timeout=WAIT_S) == second
    first.touch()
    assert said.get(timeout=WAIT_S) == first


def test_a_folder_that_does_not_exist_is_polled(tmp_path: Path):
    log = tmp_path / "later" / "train.log"
    said: queue.SimpleQueue[Path] = queue.SimpleQueue()
    watching = PathWatch([log], said.put, poll_s=0.05)
    assert watching.polled == {log}
    log.parent.mkdir()
    log.touch()
    assert said.get(timeout=WAIT_S) == log
    watching.close()


def test_a_log_is_polled_where_inotify_cannot_be_had(tmp_path: Path):
    """No descriptor is left for inotify, as when a user's instances or watches are used up."""
    log = tmp_path / "train.log"
    said: queue.SimpleQueue[Path] = queue.SimpleQueue()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fillers = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        with contextlib.suppress(OSError):
            fillers.extend(os.dup(0) for _ in range(100))
        assert fillers
        os.close(fillers.pop())  # one is left, to learn the folder's file system
        watching = PathWatch([log], said.put, poll_s=0.05)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in fillers:
            os.close(fd)
    assert watching.polled == {log}
    log.touch()
    assert said.get(timeout=WAIT_S) == log
    watching.close()


def test_a_renamed_folder_is_noticed_by_the_slow_look(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(path_watch, "ALL_POLLS", 2)
    log = tmp_path / "out" / "train.log"
    log.parent.mkdir()
    log.touch()
    said: queue.SimpleQueue[Path] = queue.SimpleQueue()
    watching = PathWatch([log], said.put, poll_s=0.05)
    assert watching.polled == set()
    log.parent.rename(tmp_path / "before")
    log.parent.mkdir()
    log.touch()
    assert said.get(timeout=WAIT_S) == log
    watching.close()


def test_inotify_is_not_trusted_on_the_network_or_fuse(tmp_path: Path, monkeypatch):
    assert path_watch._tells(tmp_path)
    for type_name in ("nfs4", "fuse.sshfs", "cifs"):
        monkeypatch.setattr(path_watch.MOUNTS, "type_of", lambda _fd, name=type_name: name)
        assert not path_watch._tells(tmp_path)
