"""After a fatal error seen by the box's daemon, commands of other users leave the driver be."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest

from pfid.adapters.driver_stop import DriverStop, driver_load
from pfid.bootstrap import gpu_gates
from pfid.bootstrap.gpu_gates import command_stop, daemon_gate
from pfid.bootstrap.place import Place

NOBODY = 65534


@pytest.fixture
def tmp_path():
    """One that others may enter: pytest shuts its own again whenever another worker begins."""
    folder = Path(tempfile.mkdtemp(prefix="across-users-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The unit's folders: everybody may pass the socket's, nobody the state's; a strict umask."""
    (tmp_path / "run").mkdir(mode=0o755)
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "cache").mkdir(mode=0o755)
    monkeypatch.setenv("CACHE_DIRECTORY", str(tmp_path / "cache"))
    monkeypatch.setattr(gpu_gates, "SYSTEM_SHOWN", tmp_path / "cache")
    socket = tmp_path / "run" / "control.sock"
    monkeypatch.setenv("PFID_SOCKET", str(socket))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "nobodys"))
    before = os.umask(0o077)
    yield Place(
        socket=socket,
        socket_mode=0o666,
        state_dir=tmp_path / "state",
        proofs=tmp_path / "state" / "proofs.json",
        listen=(),
    )
    os.umask(before)


def stands_for_nobody():
    """Whether it stands for a command of another user, in a process of his."""
    child = os.fork()
    if child == 0:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os._exit(10 + command_stop().stands())
        finally:
            os._exit(1)
    return {10: False, 11: True}[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]


@pytest.mark.root
def test_what_the_boxs_daemon_stopped_is_stopped_for_every_user_and_opened_for_all(place):
    gate = daemon_gate(place)
    assert not stands_for_nobody()
    gate.stop.set()
    assert stands_for_nobody()
    (own,) = place.state_dir.iterdir()
    assert stat.S_IMODE(own.stat().st_mode) == 0o600, "its own stays its own"
    gate.release()
    assert not stands_for_nobody()


@pytest.mark.root
def test_a_daemon_that_is_started_again_shows_it_again(place):
    daemon_gate(place).stop.set()
    for folder in (place.socket.parent, place.state_dir.parent / "cache"):
        (shown,) = folder.iterdir()
        shown.unlink()
    assert not stands_for_nobody(), "the fault was not delivered"
    daemon_gate(place)
    assert stands_for_nobody()


@pytest.mark.root
def test_it_stands_when_the_daemon_and_its_runtime_folder_are_gone_until_the_driver_is_loaded_anew(
    place, monkeypatch, tmp_path
):
    module = tmp_path / "module"
    module.mkdir()
    monkeypatch.setattr(gpu_gates, "DriverStop", lambda **more: stop_of(module, **more))
    daemon_gate(place).stop.set()
    shutil.rmtree(place.socket.parent)
    assert stands_for_nobody()
    another = tmp_path / "another"
    another.mkdir()
    module.rmdir()
    another.rename(module)
    assert not stands_for_nobody()


def stop_of(module, **more):
    return DriverStop(**more, load=lambda: driver_load(module))
