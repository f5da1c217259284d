"""The control socket against clients that take no answers."""

import contextlib
import queue
import select
import socket
import struct

import pytest

from pfid.adapters.control_server import ControlServer
from pfid.adapters.control_users import MIB, Allowance
from pfid.wire.control import Done, GetSnapshot, Refused, decode_reply, encode
from pfid.wire.framing import Unframer, frame

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


@pytest.fixture
def bounded(tmp_path, monkeypatch):
    """A server that counts everybody and answers nobody, with room for 2 MiB of requests."""
    monkeypatch.setattr("pfid.adapters.control_users.ROOT", -1)
    server = ControlServer(
        tmp_path / "control.sock",
        mode=0o600,
        on_request=lambda peer, _request, _fds: asked_by.put(peer.conn),
        on_left=lambda _: None,
        look=lambda _: "",
        allowance=Allowance(request_bytes=2 * MIB),
    )
    asked_by = queue.SimpleQueue()
    server.start()
    yield tmp_path / "control.sock", server, asked_by
    server.close()


def said(client):
    """The one reply that comes before the end."""
    unframer = Unframer()
    while chunk := client.recv(65536):
        if bodies := unframer.feed(chunk):
            return decode_reply(bodies[0])
    return None


def refused_among(clients):
    """The one that is told, whichever the server read last, and what it is told."""
    [told], _, _ = select.select(clients, [], [], 20)
    return told, said(told)


def test_half_requests_of_a_user_are_bounded_over_all_connections(bounded):
    path, _, _ = bounded
    half = struct.pack(">I", MIB) + b"x" * (MIB * 3 // 4)
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(3):
            client = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            client.connect(str(path))
            client.settimeout(20)
            clients.append(client)
        for client in clients:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                client.sendall(half)
        told, reply = refused_among(clients)
        assert isinstance(reply, Refused)
        assert reply.code == "quota"
        assert "bytes of unanswered requests" in reply.message
        clients.remove(told)
        clients[0].close()  # what it held is free again: the next one fits
        fourth = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        fourth.connect(str(path))
        fourth.settimeout(0.5)
        fourth.sendall(half)
        with pytest.raises(TimeoutError):
            fourth.recv(1)


def test_requests_in_work_count_until_they_are_answered(bounded):
    path, server, asked_by = bounded
    large = encode(GetSnapshot())
    large = large[:-1] + b" " * (MIB * 3 // 4) + large[-1:]
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) for _ in range(3)
        ]
        for client in clients:
            client.connect(str(path))
            client.settimeout(20)
        for client in clients[:2]:
            client.sendall(frame(large))
        for _ in clients[:2]:
            server.reply(asked_by.get(timeout=20), Done(detail="done"))
        assert all(isinstance(said(client), Done) for client in clients[:2])
        clients[0].sendall(frame(large))
        asked_by.get(timeout=20)
        for client in clients[1:]:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                client.sendall(frame(large))
        assert isinstance(refused_among(clients[1:])[1], Refused)


def test_replies_that_nobody_reads_are_bounded_over_all_connections(tmp_path, monkeypatch):
    monkeypatch.setattr("pfid.adapters.control_users.ROOT", -1)
    server = ControlServer(
        tmp_path / "control.sock",
        mode=0o600,
        on_request=lambda peer, _r, _f: server.reply(peer.conn, Done(detail="x" * MIB)),
        on_left=lambda _: None,
        look=lambda _: "",
        allowance=Allowance(reply_bytes=MIB),
    )
    server.start()
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(3):
            client = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            client.connect(str(tmp_path / "control.sock"))
            client.settimeout(20)
            client.sendall(frame(encode(GetSnapshot())))
            client.recv(1, socket.MSG_PEEK)  # its reply is there, and stays unread
            clients.append(client)
        refused = said(clients[2])
        assert isinstance(refused, Refused)
        assert "unread replies" in refused.message
        assert isinstance(said(clients[0]), Done)
    server.close()
