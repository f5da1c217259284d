"""What a connection speaks through: a socket as it is, or one with TLS in front of it."""

import socket
from typing import Protocol


class Stream(Protocol):
    """A non-blocking byte stream; what cannot go on now raises BlockingIOError."""

    def fileno(self) -> int:
        """Descriptor for the selector."""
        ...

    def handshake(self) -> bool:
        """Go on with what comes before the first byte; whether it is over.

        Raises:
            BlockingIOError: if the peer has to say something first.
            OSError: if it will never succeed.
        """
        ...

    @property
    def wants_to_write(self) -> bool:
        """Whether the handshake waits for room to write."""
        ...

    @property
    def welcome(self) -> bool:
        """Whether who has shaken hands may have any answer but that it may have none."""
        ...

    def recv(self, size: int) -> bytes:
        """Take what came in, b"" at the end."""
        ...

    def pending(self) -> bool:
        """Whether there is more that no selector tells about."""
        ...

    def send(self, data: memoryview) -> int:
        """Send some of it."""
        ...

    def end(self) -> None:
        """Say that nothing more is sent."""
        ...

    def refuse(self) -> None:
        """Likewise after a handshake that failed; what comes in is only thrown away."""
        ...

    def close(self) -> None:
        """Give the descriptor back."""
        ...


class PlainStream:
    """A socket as it is."""

    wants_to_write = False
    welcome = True

    def __init__(self, sock: socket.socket) -> None:
        """Take a non-blocking socket over."""
        self._sock = sock
        self.fileno = sock.fileno
        self.recv = sock.recv
        self.close = sock.close

    def handshake(self) -> bool:
        """Nothing comes before the first byte."""
        return True

    def pending(self) -> bool:
        """The selector tells everything."""
        return False

    def send(self, data: memoryview) -> int:
        """Send some of it."""
        return self._sock.send(data)

    def end(self) -> None:
        """Say that nothing more is sent."""
        self._sock.shutdown(socket.SHUT_WR)

    refuse = end
