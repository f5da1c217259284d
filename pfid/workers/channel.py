"""Frames and descriptors over one end of a socket pair, never blocking.

Both ends use it: the worker and its owner. A descriptor travels with the first byte of its frame
(SCM_RIGHTS) and is claimed by whoever handles that frame; the kernel keeps descriptors in the order
of their frames, so a queue is enough.
"""

import array
import socket
from collections import deque
from collections.abc import Sequence
from typing import Final

from pfid.domain.errors import WireError
from pfid.wire.framing import MAX_FRAME_BYTES, Unframer, frame
from pfid.workers.closing import CLOSER

MAX_DESCRIPTORS: Final = 253
"""The kernel's limit for one message (SCM_MAX_FD)."""
MAX_UNCLAIMED: Final = 1024
READ_BYTES: Final = 256 * 1024
_INT_BYTES: Final = array.array("i").itemsize


class _Outgoing:
    __slots__ = ("data", "descriptors")

    def __init__(self, data: bytes, descriptors: tuple[int, ...]) -> None:
        self.data = memoryview(data)
        self.descriptors = descriptors


class Channel:
    """One end. Owns the socket, and every descriptor from ``send`` or arrival until claimed.

    Not safe for several threads: one thread talks.
    """

    __slots__ = ("_arrived", "_outgoing", "_pending_bytes", "_sock", "_unframer", "closed")

    def __init__(self, sock: socket.socket, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        """Take the socket over; it is made non-blocking."""
        sock.setblocking(False)
        self._sock = sock
        self._unframer = Unframer(max_frame_bytes)
        self._outgoing: deque[_Outgoing] = deque()
        self._arrived: deque[int | None] = deque()
        self._pending_bytes = 0
        self.closed = False
        """The other end is gone; nothing more will come or go."""

    def fileno(self) -> int:
        """Return the socket's descriptor, for a selector."""
        return self._sock.fileno()

    @property
    def pending_bytes(self) -> int:
        """Bytes queued that the socket did not take yet."""
        return self._pending_bytes

    def send(self, body: bytes, descriptors: Sequence[int] = ()) -> None:
        """Queue a frame and write what the socket takes. Descriptors are closed once sent.

        Raises:
            WireError: for more descriptors than a message can carry, or a body over the limit.
        """
        if len(descriptors) > MAX_DESCRIPTORS:
            raise WireError(f"{len(descriptors)} descriptors in one message; {MAX_DESCRIPTORS} fit")
        data = frame(body)
        self._outgoing.append(_Outgoing(data, tuple(descriptors)))
        self._pending_bytes += len(data)
        self.flush()

    def flush(self) -> None:
        """Write as much of the queue as the socket takes."""
        while self._outgoing and not self.closed:
            first = self._outgoing[0]
            sent = self._write(first)
            if sent == 0:
                return
            self._pending_bytes -= sent
            first.data = first.data[sent:]
            if not first.data:
                self._outgoing.popleft()

    def _write(self, outgoing: _Outgoing) -> int:
        try:
            if not outgoing.descriptors:
                return self._sock.send(outgoing.data, socket.MSG_NOSIGNAL)
            rights = array.array("i", outgoing.descriptors)
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]
            sent = self._sock.sendmsg([outgoing.data], ancillary, socket.MSG_NOSIGNAL)
        except BlockingIOError:
            return 0
        except OSError:
            self.closed = True
            return 0
        _close_all(outgoing.descriptors)
        outgoing.descriptors = ()
        return sent

    def receive(self) -> list[bytes] | None:
        """Read once and return the frames that became whole; None if there was nothing to read.

        Sets ``closed`` when the other end is gone.

        Raises:
            WireError: if the other end sends what cannot be a frame, or hoards descriptors.
        """
        space = socket.CMSG_SPACE(MAX_DESCRIPTORS * _INT_BYTES)
        try:
            data, ancillary, flags, _ = self._sock.recvmsg(
                READ_BYTES, space, socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            return None
        except OSError:
            self.closed = True
            return None
        self._take_rights(ancillary, lost=bool(flags & socket.MSG_CTRUNC))
        if not data:
            self.closed = True
            return None
        return self._unframer.feed(data)

    def _take_rights(self, ancillary: list[tuple[int, int, bytes]], *, lost: bool) -> None:
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                whole = len(data) - len(data) % _INT_BYTES
                self._arrived.extend(array.array("i", data[:whole]))
        if lost:  # this process is out of descriptors: the kernel dropped what did not fit
            self._arrived.append(None)
        if len(self._arrived) > MAX_UNCLAIMED:
            raise WireError(f"{len(self._arrived)} descriptors came without a frame to claim them")

    def claim(self) -> int | None:
        """Return the next descriptor, now the caller's; None if it got lost or never came."""
        return self._arrived.popleft() if self._arrived else None

    def close(self) -> None:
        """Close the socket and every descriptor that was neither sent nor claimed."""
        self.closed = True
        self._sock.close()
        for outgoing in self._outgoing:
            _close_all(outgoing.descriptors)
        _close_all(tuple(fd for fd in self._arrived if fd is not None))
        self._outgoing.clear()
        self._arrived.clear()
        self._pending_bytes = 0


def _close_all(descriptors: tuple[int, ...]) -> None:
    for descriptor in descriptors:
        CLOSER.close(descriptor)
