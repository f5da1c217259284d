"""Of a run whose engine ends between two questions the answer is read from what it wrote."""

import fcntl
import threading
import time
from dataclasses import replace

import pytest

from pfid.bootstrap.run_lookup import look_up
from pfid.bootstrap.sources import Gathered, SourceKind, gather
from pfid.domain.errors import StateError
from pfid.domain.run import RunState


@pytest.fixture
def answered(user, eventually):
    """What was gathered while the engine of a run still answered, and is gone now."""
    assert user.run("--", "sh", "-c", "exit 3").returncode == 3

    def left():
        found = gather(user.environ, now_s=time.time(), ended_after_s=0.0)
        return [s for s in found.sources if s.kind is SourceKind.ENDED_ENGINE]

    (source,) = eventually(left, "an engine that ended", 30)
    socket = source.place.with_name("control.sock")
    assert not socket.exists()
    return replace(source, kind=SourceKind.ENGINE, place=socket, ended=None)


@pytest.mark.full
def test_it_is_read_once_it_is_let_go_of(answered):
    details = look_up(Gathered(sources=(answered,)), "train")
    assert details.view.state is RunState.FAILED
    assert details.view.end.exit_code == 3

    lock = answered.place.with_name("pfid.sqlite.lock").open("r+b")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the socket is closed, the state not yet
    leaves = threading.Timer(0.3, lock.close)
    leaves.start()
    assert look_up(Gathered(sources=(answered,)), "train") == details
    leaves.join()

    answered.place.with_name("pfid.sqlite").unlink()
    with pytest.raises(StateError, match="cannot be read"):
        look_up(Gathered(sources=(answered,)), "train")
