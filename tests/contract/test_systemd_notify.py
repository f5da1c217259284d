"""The word to systemd over a real socket: whole, in order, also when nobody reads for a while."""

import os
import socket
from pathlib import Path

import pytest

from pfid.adapters.systemd_notify import (
    WAITING_MAX,
    SystemdNotify,
    forget_own_variables,
    passed_fds,
    watchdog_interval_s,
)


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    """A socket such as systemd listens on, with its address as NOTIFY_SOCKET says it."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.settimeout(5)
    if request.param == "path":
        listener.bind(str(tmp_path / "notify"))
        yield listener, str(tmp_path / "notify")
    else:
        listener.bind("")  # the kernel chooses an abstract name
        yield listener, "@" + listener.getsockname()[1:].decode()
    listener.close()


@pytest.fixture
def notify(manager):
    speaker = SystemdNotify(manager[1])
    yield speaker
    speaker.close()


def heard(manager):
    """One message and the descriptors that came with it."""
    data, fds, _, _ = socket.recv_fds(manager[0], 4096, 8)
    return data.decode(), fds


def fill(notify):
    """Speak until the manager's queue is full; how many messages it took."""
    for sent in range(10_000):
        if notify._waiting:
            return sent - 1
        notify.status(f"{sent}")
    pytest.fail("the queue never was full")


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_every_message_arrives_as_systemd_reads_it(manager, notify):
    notify.ready("watching 3 runs\nnamed café")
    notify.watchdog()
    notify.reloading(12.5)
    notify.stopping()
    notify.drop("a-run.p")
    assert [heard(manager)[0] for _ in range(5)] == [
        "READY=1\nSTATUS=watching 3 runs named café",
        "WATCHDOG=1",
        "RELOADING=1\nMONOTONIC_USEC=12500000",
        "STOPPING=1",
        "FDSTOREREMOVE=1\nFDNAME=a-run.p",
    ]


def test_a_descriptor_goes_along_and_is_not_polled(manager, notify):
    read, write = os.pipe()
    notify.store("a-run.p", (read,))
    text, (copy,) = heard(manager)
    assert text == "FDSTORE=1\nFDPOLL=0\nFDNAME=a-run.p"
    os.write(write, b"x")
    assert os.read(copy, 1) == b"x"
    for fd in (read, write, copy):
        os.close(fd)


def test_what_a_busy_manager_does_not_take_comes_later_in_order(manager, notify):
    taken = fill(notify)
    read, write = os.pipe()
    notify.store("late.p", (read,))
    os.close(read)  # the owner is free to close its own
    for _ in range(3):
        notify.watchdog()
    assert taken == sum(1 for _ in range(taken) if heard(manager)[0].startswith("STATUS="))
    notify.drop("other.p")
    rest = [heard(manager) for _ in range(4)]
    assert [text.split("\n")[-1] for text, _ in rest] == [
        f"STATUS={taken}",
        "FDNAME=late.p",
        "WATCHDOG=1",
        "FDNAME=other.p",
    ]
    (copy,) = rest[1][1]
    os.write(write, b"x")
    assert os.read(copy, 1) == b"x"
    os.close(write)
    os.close(copy)


def test_what_waits_is_bounded_and_leaves_nothing_behind(manager):
    before = descriptors()
    notify = SystemdNotify(manager[1])
    fill(notify)
    read, write = os.pipe()
    for number in range(WAITING_MAX + 5):
        notify.store(f"{number}.p", (read,) if number < 100 else ())
    assert len(notify._waiting) == WAITING_MAX
    os.close(read)
    os.close(write)
    notify.close()
    assert descriptors() == before


def test_without_a_manager_nothing_is_said_and_nothing_kept(tmp_path):
    for address in ("", str(tmp_path / "nobody")):
        notify = SystemdNotify(address)
        notify.ready("")
        notify.watchdog()
        assert notify.present is bool(address)
        assert not notify._waiting
        notify.close()


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "60000000"}, 60.0),
        ({"WATCHDOG_USEC": "1500000", "WATCHDOG_PID": "7"}, 1.5),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_the_watchdogs_interval_is_taken_only_where_it_is_meant(environ, seconds):
    assert watchdog_interval_s(environ, 7) == seconds


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"LISTEN_FDS": "2", "LISTEN_PID": "8"},
        {"LISTEN_FDS": "x", "LISTEN_PID": "7"},
        {"LISTEN_FDS": "0", "LISTEN_PID": "7"},
    ],
)
def test_descriptors_meant_for_somebody_else_are_not_taken(environ):
    assert passed_fds(environ, 7) == []


def test_what_systemd_says_to_us_is_not_left_for_children():
    environ = {"NOTIFY_SOCKET": "x", "LISTEN_FDS": "1", "WATCHDOG_USEC": "1", "HOME": "/"}
    forget_own_variables(environ)
    assert environ == {"HOME": "/"}
