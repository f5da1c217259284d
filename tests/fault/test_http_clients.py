"""Clients that are silent, half-open, slow or garbling cost a descriptor and nothing else."""

import os
import resource
import socket
import threading
import time
from pathlib import Path

import pytest

from pfid.adapters.http_server import CONNECTIONS_MAX, PageServer
from pfid.adapters.http_server.connection import (
    IDLE_DEADLINE_S,
    LINGER_S,
    REQUEST_DEADLINE_S,
    RESPONSE_DEADLINE_S,
)
from pfid.adapters.http_server.server import ACCEPT_PAUSE_S
from pfid.config.address import Address

REQUEST = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


class Clock:
    """Monotonic seconds that stand still unless a test moves them."""

    def __init__(self):
        self.ahead_s = 1_000.0

    def __call__(self):
        return self.ahead_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def server(clock):
    served = PageServer([Address("127.0.0.1", 0)], monotonic=clock)
    served.publish(b"pfid_x 1\n")
    served.start()
    yield served
    served.stop()


@pytest.fixture
def connect(server):
    opened = []

    def one(data=b"", *, receive_buffer=None):
        sock = socket.socket()
        opened.append(sock)
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        sock.settimeout(20)
        sock.connect((server.addresses[0].host, server.addresses[0].port))
        sock.sendall(data)
        return sock

    yield one
    for sock in opened:
        sock.close()


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def scrape(connect):
    with connect(REQUEST) as sock:
        return sock.recv(65536)


def closed(sock):
    """Wait until the server cuts the connection."""
    try:
        while sock.recv(65536):
            pass
    except ConnectionResetError:
        return True
    return True


def send_for_ever(sock):
    for _ in range(100_000):
        sock.sendall(b"a" * 4_096)


def hold_all(held):
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))


def until(condition):
    """Wait until it holds: what was sent before has arrived then."""
    for _ in range(4_000):
        if condition():
            return
        time.sleep(0.005)
    pytest.fail("what should have happened did not")


def settled(server, n):
    until(lambda: len(server._connections) == n)


def test_three_hundred_half_sent_requests_do_not_stop_a_scrape(server, connect):
    threads, before = threading.active_count(), descriptors()
    halves = [connect(b"GET /metr") for _ in range(300)]
    assert scrape(connect).startswith(b"HTTP/1.1 200 OK")
    assert threading.active_count() == threads
    assert server.evicted >= 300 - CONNECTIONS_MAX
    assert len(server._connections) <= CONNECTIONS_MAX
    for sock in halves:
        sock.close()
    settled(server, 0)
    assert descriptors() <= before + 1  # the scrape's own socket closes with the fixture


def test_silent_clients_do_not_stop_a_scrape(server, connect):
    for _ in range(CONNECTIONS_MAX + 10):
        connect()
    assert scrape(connect).startswith(b"HTTP/1.1 200 OK")


def test_a_half_sent_request_is_cut_at_its_deadline(server, connect, clock):
    sock = connect(b"GET /")
    settled(server, 1)
    clock.ahead_s += REQUEST_DEADLINE_S
    connect()  # wakes the server, which looks at the clock
    assert closed(sock)
    assert server.evicted == 1


def test_a_byte_now_and_then_does_not_move_the_deadline(server, connect, clock):
    sock = connect(b"G")
    settled(server, 1)
    for byte in (b"E", b"T", b" ", b"/"):
        clock.ahead_s += REQUEST_DEADLINE_S / 5
        sock.send(byte)
        time.sleep(0.02)
    assert len(server._connections) == 1
    clock.ahead_s += REQUEST_DEADLINE_S / 5
    sock.send(b"x")
    assert closed(sock)


@pytest.mark.full
def test_the_deadline_comes_without_anybody_else_calling():
    server = PageServer([Address("127.0.0.1", 0)])
    server.start()
    with socket.create_connection((server.addresses[0].host, server.addresses[0].port)) as sock:
        sock.settimeout(20)
        sock.sendall(b"GET /")
        assert closed(sock)
    server.stop()
    assert server.evicted == 1


def test_a_reader_that_does_not_read_is_cut_and_stops_nobody(server, connect, clock):
    server.publish(b"pfid_x 1\n" * 4_000_000)
    slow = connect(REQUEST, receive_buffer=4_096)
    settled(server, 1)
    until(lambda: any(c.wants_to_write for c in server._connections.values()))
    server.publish(b"pfid_x 1\n")
    assert scrape(connect).startswith(b"HTTP/1.1 200 OK")
    clock.ahead_s += RESPONSE_DEADLINE_S
    scrape(connect)
    assert closed(slow)


def test_a_connection_kept_open_is_closed_when_it_was_idle_long(server, connect, clock):
    kept = connect(REQUEST)
    kept.recv(65536)
    clock.ahead_s += REQUEST_DEADLINE_S * 3
    scrape(connect)
    kept.sendall(REQUEST)
    assert kept.recv(65536).startswith(b"HTTP/1.1 200 OK")
    clock.ahead_s += IDLE_DEADLINE_S
    scrape(connect)
    assert closed(kept)
    assert server.evicted == 0


def test_who_was_answered_before_outlives_a_crowd_of_strangers(server, connect):
    known = connect(REQUEST)
    known.recv(65536)
    crowd = [connect(b"GET") for _ in range(CONNECTIONS_MAX * 3)]
    until(lambda: server.evicted > len(crowd) - CONNECTIONS_MAX)
    known.sendall(REQUEST)
    assert known.recv(65536).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    ("garbage", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
        (b"GET /metrics\r\n\r\n", b"400"),
        (b"get / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTP/2.0\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\x00: x\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", b"413"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"413"),
        (b"GET /" + b"a" * 9_000, b"431"),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 3_000, b"431"),
        (b"\n" * 9_000, b"400"),
    ],
)
def test_garbage_is_refused_and_the_connection_closed(server, connect, garbage, status):
    sock = connect(garbage)
    answer = b""
    while chunk := sock.recv(65536):
        answer += chunk
    assert answer.split()[1] == status
    assert scrape(connect).startswith(b"HTTP/1.1 200 OK")


def test_an_endless_request_is_answered_and_not_stored(server, connect):
    sock = connect(b"GET /")
    with pytest.raises((ConnectionResetError, BrokenPipeError)):
        send_for_ever(sock)
    for connection in server._connections.values():
        assert len(connection._in) < 16_384


def test_a_refused_client_that_goes_on_sending_is_cut(server, connect, clock):
    sock = connect(b"rubbish\r\n\r\n")
    assert sock.recv(65536).startswith(b"HTTP/1.1 400")
    sock.sendall(b"more")
    clock.ahead_s += LINGER_S
    scrape(connect)
    sock.sendall(b"wakes")
    assert closed(sock)


def test_a_client_that_shuts_its_side_still_gets_its_answer(server, connect):
    sock = connect(REQUEST)
    sock.shutdown(socket.SHUT_WR)
    answer = b""
    while chunk := sock.recv(65536):
        answer += chunk
    assert answer.startswith(b"HTTP/1.1 200 OK")


def test_a_thousand_pipelined_requests_hold_nobody_up(server, connect):
    connect(REQUEST * 1_000)
    assert scrape(connect).startswith(b"HTTP/1.1 200 OK")


def test_a_client_that_resets_leaves_nothing_behind(server, connect):
    for _ in range(50):
        sock = connect(REQUEST)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        sock.close()
    settled(server, 0)
    assert scrape(connect).startswith(b"HTTP/1.1 200 OK")


def test_out_of_descriptors_the_server_waits_and_comes_back(server, connect, clock):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    waiting = connect()
    waiting.close()
    settled(server, 0)
    client = socket.socket()
    client.settimeout(20)
    held = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors() + 8, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            hold_all(held)
        client.connect((server.addresses[0].host, server.addresses[0].port))
        client.sendall(REQUEST)
        until(lambda: server._paused_until_s is not None)
        watched = {key.fileobj for key in server._selector.get_map().values()}
        assert not watched & set(server._listeners), "the refusal is asked for again and again"
    finally:
        for fd in held:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    clock.ahead_s += ACCEPT_PAUSE_S
    assert client.recv(65536).startswith(b"HTTP/1.1 200 OK")
    client.close()
    assert scrape(connect).startswith(b"HTTP/1.1 200 OK")
