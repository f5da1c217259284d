"""Frames and descriptors keep together over a socket pair, whatever the chunks."""

import contextlib
import os
import resource
import socket
from collections.abc import Iterator

import pytest

from pfid.domain.errors import WireError
from pfid.wire.framing import frame
from pfid.workers import channel as channel_module
from pfid.workers.channel import Channel


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    left, right = (Channel(sock) for sock in socket.socketpair())
    yield left, right
    left.close()
    right.close()


def _pipe_with(data: bytes) -> int:
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    return reading


def _receive(channel: Channel, count: int) -> list[bytes]:
    bodies: list[bytes] = []
    while len(bodies) < count:
        got = channel.receive()
        assert got is not None, "nothing more to read"
        bodies += got
    return bodies


def test_frames_arrive_whole_and_in_order(ends):
    left, right = ends
    for body in (b"one", b"", b"three"):
        left.send(body)
    assert _receive(right, 3) == [b"one", b"", b"three"]
    assert right.receive() is None
    assert not right.closed


def test_descriptors_are_claimed_in_the_order_of_their_frames(ends):
    left, right = ends
    left.send(b"plain")
    left.send(b"first", [_pipe_with(b"1")])
    left.send(b"plain")
    left.send(b"second", [_pipe_with(b"2")])
    _receive(right, 4)
    for expected in (b"1", b"2"):
        fd = right.claim()
        assert fd is not None
        assert os.read(fd, 10) == expected
        assert not os.get_inheritable(fd)
        os.close(fd)
    assert right.claim() is None


def test_a_full_socket_keeps_the_rest_queued_and_the_descriptor_with_its_frame(ends):
    left, right = ends
    big = b"x" * 3_000_000
    left.send(big)
    left.send(b"after", [_pipe_with(b"!")])
    assert left.pending_bytes > 0
    bodies: list[bytes] = []
    while len(bodies) < 2:
        left.flush()
        bodies += right.receive() or []
    assert bodies == [big, b"after"]
    assert left.pending_bytes == 0
    fd = right.claim()
    assert fd is not None
    assert os.read(fd, 1) == b"!"
    os.close(fd)


def test_a_sent_descriptor_is_closed_here(ends):
    fd = _pipe_with(b"")
    ends[0].send(b"take it", [fd])
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_the_other_ends_death_is_noticed_by_reading_and_by_writing():
    left, right = (Channel(sock) for sock in socket.socketpair())
    right.close()
    assert left.receive() is None
    assert left.closed
    left.close()
    left, right = (Channel(sock) for sock in socket.socketpair())
    right.close()
    left.send(b"into the void")
    assert left.closed
    left.close()


def test_a_frame_over_the_limit_is_refused_before_it_is_buffered():
    ours, theirs = socket.socketpair()
    small = Channel(ours, max_frame_bytes=10)
    theirs.sendall(frame(b"x" * 11))
    with pytest.raises(WireError, match="over the limit of 10"):
        small.receive()
    small.close()
    theirs.close()


def test_hoarded_descriptors_are_refused(ends, monkeypatch):
    monkeypatch.setattr(channel_module, "MAX_UNCLAIMED", 2)
    left, right = ends
    for _ in range(3):
        left.send(b"", [_pipe_with(b"")])
    with pytest.raises(WireError, match="without a frame"):
        _receive(right, 3)


def test_more_descriptors_than_a_message_carries_are_refused(ends):
    with pytest.raises(WireError, match="254 descriptors"):
        ends[0].send(b"", [0] * 254)


def test_a_descriptor_lost_for_want_of_room_leaves_a_gap_and_not_a_shift(ends):
    left, right = ends
    left.send(b"lost", [_pipe_with(b"lost")])
    left.send(b"kept", [_pipe_with(b"kept")])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    fillers = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 2, hard))
    try:
        with contextlib.suppress(OSError):
            fillers.extend(os.dup(0) for _ in range(highest + 2))
        assert _receive(right, 1) == [b"lost"]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in fillers:
            os.close(fd)
    assert _receive(right, 1) == [b"kept"]
    assert right.claim() is None
    fd = right.claim()
    assert fd is not None
    assert os.read(fd, 10) == b"kept"
    os.close(fd)


def test_closing_closes_what_was_neither_sent_nor_claimed(ends):
    left, right = ends
    left.send(b"", [_pipe_with(b"")])
    right.receive()
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    right.close()
    assert len(before - set(os.listdir("/proc/self/fd"))) == 2  # noqa: PTH208
