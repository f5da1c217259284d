"""The lock on a name, between real processes."""

import os
import time

import pytest

from pfid.adapters import name_lock as name_lock_module
from pfid.adapters.name_lock import name_lock
from pfid.domain.errors import LaunchError


def in_a_child(work):
    """Run ``work`` in a fork; returns its pid. It exits 0 when ``work`` returns true."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os._exit(0 if work() else 1)
    finally:
        os._exit(2)


def refused(file):
    try:
        with name_lock(file, 0.0):
            return False
    except LaunchError:
        return True


def outcome(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_two_processes_never_hold_it_at_once(tmp_path):
    file = tmp_path / "names" / "train.lock"
    with name_lock(file, 0.0):
        assert outcome(in_a_child(lambda: refused(file))) == 0
    assert outcome(in_a_child(lambda: not refused(file))) == 0


def test_a_holder_that_dies_lets_go(tmp_path):
    file = tmp_path / "train.lock"
    out, ready = os.pipe()

    def hold():
        with name_lock(file, 0.0):
            os.write(ready, b"r")
            time.sleep(60)

    pid = in_a_child(hold)
    assert os.read(out, 1) == b"r"
    assert refused(file)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    assert not refused(file)
    os.close(out)
    os.close(ready)


def test_unlocking_frees_it_although_a_forked_child_still_has_the_file(tmp_path):
    file = tmp_path / "train.lock"
    out, go = os.pipe()
    with name_lock(file, 0.0):
        pid = in_a_child(lambda: os.read(out, 1) == b"g")
    assert not refused(file)
    os.write(go, b"g")
    assert outcome(pid) == 0
    os.close(out)
    os.close(go)


def test_a_lock_file_that_was_removed_between_opening_and_locking_is_no_lock(tmp_path, monkeypatch):
    file = tmp_path / "train.lock"
    really, opened = name_lock_module._open, []

    def removed_once(path):
        descriptor = really(path)
        if not opened:
            path.unlink()
        opened.append(descriptor)
        return descriptor

    monkeypatch.setattr(name_lock_module, "_open", removed_once)
    with name_lock(file, 1.0):
        assert len(opened) == 2, "the fault was not delivered"
        assert refused(file), "two would hold two files of one name"


def test_waiting_ends(tmp_path):
    file = tmp_path / "train.lock"
    with (
        name_lock(file, 0.0),
        pytest.raises(LaunchError, match="another launch holds"),
        name_lock(file, 0.05),
    ):
        pass


def test_a_state_folder_that_cannot_be_made_is_said_with_what_to_do(tmp_path):
    (tmp_path / "names").write_text("a file\n")
    with pytest.raises(LaunchError, match="XDG_STATE_HOME"), name_lock(tmp_path / "names/x", 0.0):
        pass
