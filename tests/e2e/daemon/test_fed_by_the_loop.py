"""The service manager's watchdog hears the loop, and nothing that goes on beside it."""

import socket
import urllib.request

import pytest

from pfid.formats.exposition import samples

WATCHDOG_S = 0.1
SILENT_FOR = 20
"""Intervals of the watchdog for which the loop stands still."""


@pytest.fixture
def manager(idle_box):
    """Who the daemon tells; it wants to hear from it ten times a second."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.setblocking(False)
    listener.bind(str(idle_box.folder / "notify"))
    idle_box.environ |= {
        "NOTIFY_SOCKET": str(idle_box.folder / "notify"),
        "WATCHDOG_USEC": str(int(WATCHDOG_S * 1e6)),
    }
    yield listener
    listener.close()


def heard(manager):
    """Everything that came since somebody looked."""
    found = []
    while True:
        try:
            found.append(manager.recv(65_536).decode())
        except BlockingIOError:
            return found


def fed(manager):
    return sum("WATCHDOG=1" in message for message in heard(manager))


def of_page(url, name):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return next(s.value for s in samples(answer.read().decode()) if s.name == name)


def test_while_the_loop_stands_still_nothing_beside_it_feeds_the_watchdog(
    idle_box, manager, standing_still
):
    idle_box.start()
    url = idle_box.register(idle_box.child().pid, "train-0001").metrics_url
    idle_box.until("it is fed", lambda: fed(manager), 60)
    now_s = lambda: of_page(url, "pfid_time_seconds")  # noqa: E731

    with standing_still(idle_box.daemon.pid):
        heard(manager)  # what had been sent before
        ends_at_s = now_s() + SILENT_FOR * WATCHDOG_S
        idle_box.until("other threads have gone on", lambda: now_s() > ends_at_s, 60)
        assert fed(manager) == 0
    idle_box.until("it is fed again", lambda: fed(manager), 60)
