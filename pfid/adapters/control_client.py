"""A blocking client of the control socket: one request, one reply, descriptors beside."""

import array
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from pfid.adapters.unix_address import socket_address
from pfid.domain.errors import ControlError, WireError
from pfid.wire.control import Refused, Reply, Request, decode_reply, encode
from pfid.wire.framing import Unframer, frame

DESCRIPTORS_MAX: Final = 253
"""What the kernel passes with one message (SCM_MAX_FD)."""

_CHUNK_BYTES: Final = 256 * 1024
_BACKLOG_RETRY_S: Final = 0.01
_R = TypeVar("_R", bound=Reply)


class ControlClient:
    """One connection. After an error it is closed: an answer that comes late belongs to nobody."""

    def __init__(self, socket_path: Path | str, timeout_s: float = 5.0) -> None:
        """Connect.

        Args:
            socket_path: of the daemon or engine.
            timeout_s: for connecting and for each call as a whole.

        Raises:
            ControlError: if nobody listens there.
        """
        self._path = Path(socket_path)
        self._timeout_s = timeout_s
        self._unframer = Unframer()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            self._connect(time.monotonic() + timeout_s)
        except OSError as error:
            self.close()
            raise ControlError(f"nobody answers at {self._path}: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _connect(self, deadline_s: float) -> None:
        while True:
            try:
                with socket_address(self._path) as address:
                    self._wait_until(deadline_s)
                    self._socket.connect(address)
            except BlockingIOError:  # the listener's backlog is full
                time.sleep(_BACKLOG_RETRY_S)
            else:
                return

    def _wait_until(self, deadline_s: float) -> None:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"no answer within {self._timeout_s} s")
        self._socket.settimeout(left_s)

    def call(
        self, request: Request, fds: Sequence[int] = (), timeout_s: float | None = None
    ) -> Reply:
        """Send a request and wait for its reply; a ``Refused`` is a reply.

        Args:
            request: what to ask.
            fds: descriptors to hand over; the caller keeps and closes their own.
            timeout_s: for this call, else the client's.

        Raises:
            ControlError: on any failure; the connection is closed then.
        """
        if len(fds) > DESCRIPTORS_MAX:
            raise ControlError(f"{len(fds)} descriptors; one message takes {DESCRIPTORS_MAX}")
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        try:
            return self._exchange(frame(encode(request)), fds, time.monotonic() + limit_s)
        except (OSError, WireError) as error:
            self.close()
            what = type(request).__name__
            raise ControlError(f"{what} was not answered by {self._path}: {error}") from error

    def ask(
        self,
        request: Request,
        expected: type[_R],
        fds: Sequence[int] = (),
        timeout_s: float | None = None,
    ) -> _R:
        """Like ``call`` for those who take one kind of reply.

        Raises:
            ControlError: also for a refusal, in the daemon's words, and for another reply.
        """
        reply = self.call(request, fds, timeout_s)
        if isinstance(reply, expected):
            return reply
        if isinstance(reply, Refused):
            raise ControlError(f"refused ({reply.code}): {reply.message}. {reply.remedy}".strip())
        raise ControlError(f"{self._path} answered {type(reply).__name__}, not as asked")

    def _exchange(self, data: bytes, fds: Sequence[int], deadline_s: float) -> Reply:
        self._wait_until(deadline_s)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self._socket.sendmsg([data], rights)
        while sent < len(data):
            self._wait_until(deadline_s)
            sent += self._socket.send(memoryview(data)[sent:])
        while True:
            self._wait_until(deadline_s)
            chunk = self._socket.recv(_CHUNK_BYTES)
            if not chunk:
                raise ConnectionResetError("it closed the connection")
            bodies = self._unframer.feed(chunk)
            if bodies:
                return decode_reply(bodies[0])

    def close(self) -> None:
        """Close the connection; closing twice is harmless."""
        self._socket.close()
