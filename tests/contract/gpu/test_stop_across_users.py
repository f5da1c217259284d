"""After a fatal error seen by the box's daemon, commands of other users leave the driver be."""

import os
import stat

import pytest

from pfid.bootstrap.gpu_gates import command_stop, daemon_gate
from pfid.bootstrap.place import Place

NOBODY = 65534


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The unit's folders: everybody may pass the socket's, nobody the state's; a strict umask."""
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_uid == os.getuid() and parent.stat().st_mode & 0o5 != 0o5:
            parent.chmod(0o755)
    (tmp_path / "run").mkdir(mode=0o755)
    (tmp_path / "state").mkdir(mode=0o700)
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
    (shown,) = place.socket.parent.iterdir()
    shown.unlink()
    assert not stands_for_nobody(), "the fault was not delivered"
    daemon_gate(place)
    assert stands_for_nobody()
