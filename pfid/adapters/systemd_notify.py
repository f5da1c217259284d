"""What the daemon and systemd say to each other (sd_notify(3), sd_listen_fds(3)).

Written here because the packaged one encodes latin-1: a run's name outside it silently dropped
the whole message, and a ``WATCHDOG=1`` in it.
"""

import array
import contextlib
import errno
import os
import socket
from collections import deque
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Final

FIRST_PASSED_FD: Final = 3
WAITING_MAX: Final = 4096
"""Messages that are kept while the service manager does not read; the oldest go first."""
_LATER: Final = frozenset({errno.EAGAIN, errno.ENOBUFS, errno.ETOOMANYREFS})
_OWN_VARIABLES: Final = (
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "FDSTORE",
)


class SystemdNotify:
    """Sends messages to the service manager; without one every call does nothing.

    No call ever waits. What a busy manager does not take now is kept, with copies of its
    descriptors, and goes out before the next message: a lost FDSTORE would be a lost run.
    """

    def __init__(self, address: str = "") -> None:
        """Send to ``address``, as NOTIFY_SOCKET gives it: a path, or ``@name``."""
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self._socket.setblocking(False)
        self._waiting: deque[tuple[str, tuple[int, ...]]] = deque()

    @property
    def present(self) -> bool:
        """Whether there is a service manager to talk to."""
        return bool(self._address)

    def ready(self, status: str) -> None:
        """Watching and listening."""
        self._send(f"READY=1\nSTATUS={_one_line(status)}")

    def reloading(self, monotonic_s: float) -> None:
        """Reading the configuration again; ``ready`` follows."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={int(monotonic_s * 1e6)}")

    def stopping(self) -> None:
        """On the way out."""
        self._send("STOPPING=1")

    def status(self, text: str) -> None:
        """One line for ``systemctl status``."""
        self._send(f"STATUS={_one_line(text)}")

    def watchdog(self) -> None:
        """A complete iteration of the loop was made."""
        self._send("WATCHDOG=1")

    def store(self, name: str, fds: Sequence[int]) -> None:
        """Give descriptors to the service manager to keep until the next start.

        FDPOLL=0: a pidfd polls as hung up once its process ends, and the status is wanted then.
        """
        self._send(f"FDSTORE=1\nFDPOLL=0\nFDNAME={name}", fds)

    def drop(self, name: str) -> None:
        """Ask the service manager to close what it keeps under a name."""
        self._send(f"FDSTOREREMOVE=1\nFDNAME={name}")

    def close(self) -> None:
        """Close the socket; what still waits is tried once more."""
        self._flush()
        while self._waiting:
            self._forget_oldest()
        self._socket.close()

    def _send(self, text: str, fds: Sequence[int] = ()) -> None:
        if not self._address:
            return
        self._flush()
        if self._waiting or not self._sent(text, fds):
            self._keep(text, fds)

    def _flush(self) -> None:
        while self._waiting and self._sent(*self._waiting[0]):
            self._forget_oldest()

    def _sent(self, text: str, fds: Sequence[int]) -> bool:
        """Send it; False if it can be sent later. What can never be sent is dropped."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            self._socket.sendmsg([text.encode()], rights, 0, self._address)
        except OSError as error:
            return error.errno not in _LATER
        return True

    def _keep(self, text: str, fds: Sequence[int]) -> None:
        if self._waiting and self._waiting[-1] == (text, ()):
            return  # it says nothing new, as a second WATCHDOG=1
        if len(self._waiting) >= WAITING_MAX:
            self._forget_oldest()
        with contextlib.suppress(OSError):
            self._waiting.append((text, tuple(os.dup(fd) for fd in fds)))

    def _forget_oldest(self) -> None:
        for fd in self._waiting.popleft()[1]:
            os.close(fd)


def watchdog_interval_s(environ: Mapping[str, str], pid: int) -> float | None:
    """How often systemd wants to hear from us at the latest; None if it does not."""
    try:
        interval_s = int(environ.get("WATCHDOG_USEC", "")) / 1e6
        meant = int(environ.get("WATCHDOG_PID", str(pid))) == pid
    except ValueError:
        return None
    return interval_s if meant and interval_s > 0 else None


def passed_fds(environ: Mapping[str, str], pid: int) -> list[tuple[str, int]]:
    """Descriptors that systemd kept for us, with their names, set close-on-exec."""
    try:
        count = int(environ.get("LISTEN_FDS", "0"))
        meant = int(environ.get("LISTEN_PID", "0")) == pid
    except ValueError:
        return []
    if not meant or count <= 0:
        return []
    names = (environ.get("LISTEN_FDNAMES", "").split(":") + [""] * count)[:count]
    found = []
    for number, name in enumerate(names, FIRST_PASSED_FD):
        with contextlib.suppress(OSError):
            os.set_inheritable(number, False)
            found.append((name, number))
    return found


def forget_own_variables(environ: MutableMapping[str, str]) -> None:
    """Keep them from children, who could speak for us otherwise (gpud#1232, sensu#1506)."""
    for name in _OWN_VARIABLES:
        environ.pop(name, None)


def _one_line(text: str) -> str:
    return " ".join(text.split())
