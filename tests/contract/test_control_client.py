"""The control client against a real socket."""

import contextlib
import os
import socket
import threading

import pytest

from pfid.adapters.control_client import DESCRIPTORS_MAX, ControlClient
from pfid.adapters.unix_address import socket_address
from pfid.domain.errors import ControlError
from pfid.wire.control import (
    Done,
    GetSnapshot,
    Refused,
    Registered,
    decode_request,
    encode,
)
from pfid.wire.framing import Unframer, frame


@contextlib.contextmanager
def serving(path, answer):
    """Serve one connection: ``answer(connection)`` runs in a thread."""
    listener = socket.socket(socket.AF_UNIX)
    with socket_address(path) as address:
        listener.bind(address)
    listener.listen(1)

    def serve():
        connection, _ = listener.accept()
        with connection:
            answer(connection)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        thread.join(10)
        listener.close()


def receive(connection):
    unframer = Unframer()
    handed = []
    while True:
        data, fds, _, _ = socket.recv_fds(connection, 65536, 253)
        handed += fds
        bodies = unframer.feed(data)
        if bodies:
            return decode_request(bodies[0]), handed


def test_request_descriptor_and_reply_go_through(tmp_path):
    seen = []

    def answer(connection):
        request, fds = receive(connection)
        seen.append((request, [os.read(fd, 10) for fd in fds]))
        for fd in fds:
            os.close(fd)
        connection.sendall(frame(encode(Done(detail="yes"))))

    (tmp_path / "log").write_bytes(b"text")
    with (
        serving(tmp_path / "s", answer),
        (tmp_path / "log").open("rb") as log,
        ControlClient(tmp_path / "s") as client,
    ):
        assert client.call(GetSnapshot(), [log.fileno()]) == Done(detail="yes")
    assert seen == [(GetSnapshot(), [b"text"])]


def test_a_path_longer_than_the_kernel_takes_works(tmp_path):
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)

    def answer(connection):
        receive(connection)
        connection.sendall(frame(encode(Done())))

    assert len(str(deep / "control.sock")) > 107
    with serving(deep / "control.sock", answer), ControlClient(deep / "control.sock") as client:
        assert client.call(GetSnapshot()) == Done()


def test_nobody_there_is_said_with_the_place(tmp_path):
    with pytest.raises(ControlError, match=r"nobody answers at .*/none"):
        ControlClient(tmp_path / "none")


def test_a_silent_daemon_costs_the_timeout_and_no_more(tmp_path):
    release = threading.Event()
    with serving(tmp_path / "s", lambda _: release.wait(10)):
        client = ControlClient(tmp_path / "s", timeout_s=0.1)
        with pytest.raises(ControlError, match="was not answered"):
            client.call(GetSnapshot())
        with pytest.raises(ControlError):
            client.call(GetSnapshot())
        release.set()


@pytest.mark.parametrize("rubbish", [b"", b"\xff\xff\xff\xff", b"\x00\x00\x00\x02{}", b"\x00\x00"])
def test_an_answer_that_is_none_is_an_error_not_a_crash(tmp_path, rubbish):
    def answer(connection):
        receive(connection)
        connection.sendall(rubbish)

    with (
        serving(tmp_path / "s", answer),
        ControlClient(tmp_path / "s") as client,
        pytest.raises(ControlError, match="was not answered"),
    ):
        client.call(GetSnapshot())


def test_asking_for_one_kind_of_reply_turns_a_refusal_into_its_words(tmp_path):
    def answer(connection):
        receive(connection)
        connection.sendall(frame(encode(Refused(code="quota", message="64 runs", remedy="stop"))))

    with (
        serving(tmp_path / "s", answer),
        ControlClient(tmp_path / "s") as client,
        pytest.raises(ControlError, match=r"refused \(quota\): 64 runs\. stop"),
    ):
        client.ask(GetSnapshot(), Registered)


def test_more_descriptors_than_a_message_takes_are_refused_before_sending(tmp_path):
    release = threading.Event()
    with serving(tmp_path / "s", lambda _: release.wait(10)):
        with (
            ControlClient(tmp_path / "s") as client,
            pytest.raises(ControlError, match="254 descriptors"),
        ):
            client.call(GetSnapshot(), [0] * (DESCRIPTORS_MAX + 1))
        release.set()
