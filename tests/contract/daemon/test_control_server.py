"""The control socket against clients that take no answers."""

import contextlib
import queue
import socket

import pytest

from pfid.adapters.control_server import ControlServer
from pfid.wire.control import Done, GetSnapshot, encode
from pfid.wire.framing import frame

REPLY_CHARS = 256 * 1024
ASKED = 40
CUT_OFF = "cut off"


@pytest.fixture
def asked(tmp_path):
    """A server that answers at length, and the queue of what it was asked."""
    seen = queue.SimpleQueue()

    def answer(peer, request, fds):
        seen.put(request)
        server.reply(peer.conn, Done(detail="x" * REPLY_CHARS))

    server = ControlServer(
        tmp_path / "control.sock",
        mode=0o600,
        on_request=answer,
        on_left=lambda _: seen.put(CUT_OFF),
        look=lambda _: "",
    )
    server.start()
    yield tmp_path / "control.sock", seen
    server.close()


def test_a_client_that_reads_no_reply_is_asked_nothing_more(asked):
    """Replies would pile up in the daemon for as long as it asks."""
    path, seen = asked
    told = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(str(path))
        client.settimeout(20)
        while len(told) < ASKED and CUT_OFF not in told:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                client.sendall(frame(encode(GetSnapshot())))
            with contextlib.suppress(queue.Empty):
                told.append(seen.get(timeout=0.1 if told else 20))
    assert 1 <= told.count(GetSnapshot()) <= 4
    assert told[-1] == CUT_OFF
