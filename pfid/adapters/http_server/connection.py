"""One client: what it has sent, what it has still to take, and until when.

A client that is silent, slow or sends rubbish costs a descriptor and at most the buffer below,
until its deadline or until the place is wanted.
"""

from collections.abc import Callable
from enum import Enum
from http import HTTPStatus
from typing import Final

from pfid.adapters.http_server.request import (
    BadRequestError,
    Request,
    head_end,
    parse,
)
from pfid.adapters.http_server.response import plain, response
from pfid.adapters.http_server.streams import Stream

REQUEST_DEADLINE_S: Final = 5.0
RESPONSE_DEADLINE_S: Final = 10.0
IDLE_DEADLINE_S: Final = 150.0
LINGER_S: Final = 2.0
LINGER_MAX_BYTES: Final = 64 * 1024
_CHUNK_BYTES: Final = 4096
UNWELCOME: Final = b"the client's certificate is for none of client_allowed_sans\n"


class Stage(Enum):
    """Where a connection stands; the order is that in which places are taken away."""

    HANDSHAKE = "handshake"
    """TLS is being agreed on; without TLS over at once."""
    READING = "reading"
    """A request is on its way, or the first has not begun."""
    LINGERING = "lingering"
    """The last answer is out, or why there is none; what still comes in is thrown away until the
    client closes."""
    IDLE = "idle"
    """At least one request was answered and the next has not begun."""
    WRITING = "writing"
    CLOSED = "closed"


_OPEN: Final = frozenset({Stage.READING, Stage.IDLE, Stage.LINGERING})
_BETWEEN_ANSWERS: Final = frozenset({Stage.READING, Stage.IDLE})


class Connection:
    """A non-blocking stream and its place in the conversation."""

    def __init__(self, stream: Stream, now_s: float) -> None:
        """Give the client ``REQUEST_DEADLINE_S`` to shake hands, and then to say what it wants."""
        self.stream = stream
        self.stage = Stage.HANDSHAKE
        self.since_s = now_s
        self.deadline_s = now_s + REQUEST_DEADLINE_S
        self._in = bytearray()
        self._out = memoryview(b"")
        self._last = False
        self._linger_left_bytes = LINGER_MAX_BYTES

    def readable(self, now_s: float, answer: Callable[[Request], bytes]) -> None:
        """Take what came in, answer what is complete."""
        if self.stage is Stage.HANDSHAKE and not self._shaken(now_s):
            return
        self._take(now_s, answer)
        self._take_pending(now_s, answer)

    def _shaken(self, now_s: float) -> bool:
        try:
            self.stream.handshake()
        except BlockingIOError:
            return False
        except OSError:
            self._linger(now_s, self.stream.refuse)
            return False
        self._to(Stage.READING, now_s, REQUEST_DEADLINE_S)
        return True

    def _take_pending(self, now_s: float, answer: Callable[[Request], bytes]) -> None:
        """Take what the stream holds already: nobody will say again that it is there."""
        while self.stage in _OPEN and self.stream.pending():
            self._take(now_s, answer)

    def _take(self, now_s: float, answer: Callable[[Request], bytes]) -> None:
        try:
            chunk = self.stream.recv(_CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        if self.stage is Stage.LINGERING:
            self._linger_left_bytes -= len(chunk)
        if not chunk or self._linger_left_bytes <= 0:
            self._to(Stage.CLOSED, now_s, 0.0)
        elif self.stage is not Stage.LINGERING:
            self._in += chunk
            if self.stage is Stage.IDLE:
                self._to(Stage.READING, now_s, REQUEST_DEADLINE_S)
            self._go_on(now_s, answer)

    def writable(self, now_s: float, answer: Callable[[Request], bytes]) -> None:
        """Send on; after the last byte of an answer look for a pipelined request."""
        if self.stage is Stage.HANDSHAKE:
            self.readable(now_s, answer)
            return
        self._send(now_s)
        self._go_on(now_s, answer)
        self._take_pending(now_s, answer)

    @property
    def wants_to_write(self) -> bool:
        """Whether an answer is under way; nothing more is read until it is out."""
        if self.stage is Stage.HANDSHAKE:
            return self.stream.wants_to_write
        return self.stage is Stage.WRITING

    def close(self) -> None:
        """Give the descriptor back."""
        self.stage = Stage.CLOSED
        self.stream.close()

    def _go_on(self, now_s: float, answer: Callable[[Request], bytes]) -> None:
        """Answer complete requests one after the other while the socket takes the answers."""
        while self.stage in _BETWEEN_ANSWERS:
            out = self._next_answer(answer)
            if out is None:
                break
            self._out = memoryview(out)
            self._to(Stage.WRITING, now_s, RESPONSE_DEADLINE_S)
            self._send(now_s)
        if self.stage is Stage.IDLE and self._in:
            self._to(Stage.READING, now_s, REQUEST_DEADLINE_S)

    def _next_answer(self, answer: Callable[[Request], bytes]) -> bytes | None:
        """The answer to the next complete request in the buffer, None if there is none."""
        try:
            end = head_end(self._in)
            if end is None:
                return None
            request = parse(bytes(self._in[:end]))
        except BadRequestError as error:
            self._in.clear()
            self._last = True
            return plain(HTTPStatus(error.status), keep_alive=False)
        del self._in[:end]
        if not self.stream.welcome:
            self._last = True
            return response(HTTPStatus.FORBIDDEN, UNWELCOME, keep_alive=False)
        self._last = not request.keep_alive
        return answer(request)

    def _send(self, now_s: float) -> None:
        try:
            while self._out:
                self._out = self._out[self.stream.send(self._out) :]
        except BlockingIOError:
            return
        except OSError:
            self._to(Stage.CLOSED, now_s, 0.0)
            return
        self._out = memoryview(b"")
        if self._last:
            self._linger(now_s, self.stream.end)
        else:
            self._to(Stage.IDLE, now_s, IDLE_DEADLINE_S)

    def _linger(self, now_s: float, end: Callable[[], None]) -> None:
        """Closing with unread input would reset the connection and could lose what was said."""
        try:
            end()
        except OSError:
            self._to(Stage.CLOSED, now_s, 0.0)
        else:
            self._to(Stage.LINGERING, now_s, LINGER_S)

    def _to(self, stage: Stage, now_s: float, allowed_s: float) -> None:
        self.stage = stage
        self.since_s = now_s
        self.deadline_s = now_s + allowed_s
