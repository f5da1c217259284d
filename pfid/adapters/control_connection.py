"""One client of the control socket: its bytes, its descriptors, its unread replies."""

import array
import socket
import struct
from collections import deque
from dataclasses import dataclass
from typing import Final

from pfid.domain.errors import WireError
from pfid.wire.framing import Unframer, frame
from pfid.workers.closing import CLOSER

REQUEST_MAX_BYTES: Final = 1024 * 1024
WAITING_MAX: Final = 8
"""Requests a client may send ahead of its replies."""
DESCRIPTORS_MAX: Final = 253
_CHUNK_BYTES: Final = 64 * 1024
_INT_BYTES: Final = array.array("i").itemsize
_UCRED: Final = struct.Struct("3i")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """Who asks, by the kernel's word. ``conn`` is unique for the server's life."""

    conn: int
    uid: int
    pid: int


def peer_of(sock: socket.socket, conn: int) -> Peer:
    """Ask the kernel who is at the other end.

    Raises:
        OSError: if it is gone already.
    """
    said = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    pid, uid, _ = _UCRED.unpack(said)
    return Peer(conn=conn, uid=uid, pid=pid)


@dataclass(frozen=True, slots=True)
class Incoming:
    """One request, not decoded, with the descriptors that came with it."""

    body: bytes
    fds: tuple[int, ...]


class Connection:
    """Owns its socket and every descriptor that was not handed on."""

    def __init__(self, sock: socket.socket, peer: Peer) -> None:
        """Take the socket over; it is made non-blocking."""
        sock.setblocking(False)
        self.sock = sock
        self.peer = peer
        self.waiting: deque[Incoming] = deque()
        self._in_work: Incoming | None = None
        self._half_since_s: float | None = None
        self._unread_since_s: float | None = None
        self._unframer = Unframer(REQUEST_MAX_BYTES)
        self._fds: list[int] = []
        self._outbox = memoryview(b"")

    @property
    def blocked_since_s(self) -> float | None:
        """Since when half a request, or an unread reply, stands still; None if neither does."""
        since = [s for s in (self._half_since_s, self._unread_since_s) if s is not None]
        return min(since, default=None)

    @property
    def busy(self) -> bool:
        """Whether a request of it is being answered."""
        return self._in_work is not None

    def next_request(self) -> Incoming:
        """Take the oldest request that waits; it is in work until ``answered``."""
        self._in_work = self.waiting.popleft()
        return self._in_work

    def answered(self) -> None:
        """The request in work has its reply."""
        self._in_work = None

    @property
    def request_bytes(self) -> int:
        """Bytes of requests that are half here, wait, or are in work."""
        whole = [*self.waiting, *((self._in_work,) if self._in_work else ())]
        return self._unframer.pending_bytes + sum(len(each.body) for each in whole)

    @property
    def unsent_bytes(self) -> int:
        """Bytes of a reply that the client has not taken."""
        return len(self._outbox)

    def receive(self, now_s: float) -> bool:
        """Take what is there; False if the client is gone.

        Raises:
            WireError: if it breaks the protocol; nothing of it can be believed any more.
        """
        try:
            chunk, fds = self._read()
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._fds += fds
        if len(self._fds) > DESCRIPTORS_MAX:
            raise WireError(f"over {DESCRIPTORS_MAX} descriptors with one request")
        for body in self._unframer.feed(chunk):
            self.waiting.append(Incoming(body, tuple(self._fds)))
            self._fds.clear()
        if len(self.waiting) > WAITING_MAX:
            raise WireError(f"over {WAITING_MAX} requests ahead of their replies")
        if sum(len(each.body) for each in self.waiting) > REQUEST_MAX_BYTES:
            raise WireError(f"over {REQUEST_MAX_BYTES} bytes of requests ahead of their replies")
        self._note_pending(now_s)
        return bool(chunk)

    def _note_pending(self, now_s: float) -> None:
        if not self._unframer.pending_bytes:
            self._half_since_s = None
        elif self._half_since_s is None:
            self._half_since_s = now_s

    def _read(self) -> tuple[bytes, list[int]]:
        room = socket.CMSG_SPACE(DESCRIPTORS_MAX * _INT_BYTES)
        chunk, ancillary, flags, _ = self.sock.recvmsg(
            _CHUNK_BYTES, room, socket.MSG_CMSG_CLOEXEC | socket.MSG_DONTWAIT
        )
        fds = array.array("i")
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(data[: len(data) - len(data) % _INT_BYTES])
        if flags & socket.MSG_CTRUNC:
            self._fds += fds
            raise WireError("descriptors were lost on the way: this process holds too many")
        return chunk, list(fds)

    def send(self, body: bytes, now_s: float) -> bool:
        """Queue a reply and write what the client takes; False if it is gone."""
        self._outbox = memoryview(bytes(self._outbox) + frame(body))
        if self._unread_since_s is None:
            self._unread_since_s = now_s
        return self.flush(now_s)

    def flush(self, now_s: float) -> bool:
        """Write on; False if the client is gone."""
        while self._outbox:
            try:
                sent = self.sock.send(self._outbox, socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return True
            except OSError:
                return False
            self._outbox = self._outbox[sent:]
            self._unread_since_s = now_s
        self._unread_since_s = None
        return True

    def close(self) -> None:
        """Close the socket and every descriptor nobody took."""
        self.sock.close()
        close_all(self._fds)
        for incoming in self.waiting:
            close_all(incoming.fds)
        self._fds.clear()
        self.waiting.clear()


def close_all(fds: tuple[int, ...] | list[int]) -> None:
    """Close descriptors without waiting for their file systems; closed already is no matter."""
    for fd in fds:
        CLOSER.close(fd)
