"""What fails while a run's end is told to its watchers does not fail the launcher."""

import errno
from contextlib import nullcontext
from pathlib import Path

import pytest

from pfid.domain.identity import ProcessIdentity
from pfid.launch.watching import Watching
from pfid.wire.control import Done, Ended, Register, Registered
from pfid.wire.record import RunRecord, recorded

IDENTITY = ProcessIdentity(machine_id="m", boot_id="b", pid=1, start_ticks=2)
RECORD = RunRecord(run_id="train-1", name="train", process=recorded(IDENTITY), started_at_s=1.0)
ENDED = Ended(run_id="train-1", exit_code=3, signal=None, at_s=9.0)
DAEMON, ENGINE = Path("daemon.sock"), Path("engine.sock")


class NoDescriptors:
    """Files of a process that may open no more of them."""

    def __init__(self):
        self.refused = 0

    def _refuse(self):
        self.refused += 1
        raise OSError(errno.EMFILE, "Too many open files")

    def open_all(self):
        return []

    def news(self):
        self._refuse()

    def look(self):
        self._refuse()

    def taken(self):
        pass

    def close(self):
        pass

    def watched(self, _changed):
        return nullcontext()


class FakeWatchers:
    """One watcher answers at one socket; an engine that is started never comes up."""

    daemon_socket = DAEMON

    def __init__(self, files, answering):
        self._files, self._answering = files, answering
        self.asked = []

    def engine_socket(self, _run_id):
        return ENGINE

    def binding(self, socket):
        return (1,) if socket == self._answering else None

    def connect(self, _socket):
        return self

    def call(self, request, _fds=(), _timeout_s=None):
        self.asked.append(request)
        return Registered(run_id="train-1") if isinstance(request, Register) else Done()

    def close(self):
        pass

    def start_engine(self, _run_id):
        return 99

    def engine_runs(self, _pidfd):
        return True

    def files(self, _logs, _run_id):
        return self._files

    def earlier(self, _record):
        return ()

    def in_background(self, work):
        raise AssertionError(work)


@pytest.mark.parametrize("answering", [DAEMON, None])
def test_a_launcher_without_descriptors_left_sees_its_run_to_the_end(answering):
    said, files = [], NoDescriptors()
    watchers = FakeWatchers(files, answering)
    watching = Watching(RECORD, 7, watchers, lambda _fd: None, said.append)
    watching._thread.join(60)  # its first round has failed
    assert files.refused == 1
    watching.finish(ENDED)
    assert files.refused == (2 if answering else 3)
    assert any("Too many open files" in text and "the end of train-1" in text for text in said)
    if answering:
        assert watchers.asked[-1] == ENDED
