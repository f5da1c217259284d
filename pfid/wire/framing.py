"""Length-prefixed frames on a stream: four bytes, big-endian, then that many bytes of JSON."""

import struct
from typing import Final

from pfid.domain.errors import WireError

MAX_FRAME_BYTES: Final = 32 * 1024 * 1024
HEADER: Final = struct.Struct(">I")


def frame(body: bytes) -> bytes:
    """Put the length in front.

    Raises:
        WireError: if the body is larger than a frame may be.
    """
    if len(body) > MAX_FRAME_BYTES:
        raise WireError(f"message of {len(body)} bytes is over the limit of {MAX_FRAME_BYTES}")
    return HEADER.pack(len(body)) + body


class Unframer:
    """Cuts a stream into frames, whatever the chunks it arrives in."""

    __slots__ = ("_buffer", "_max_bytes")

    def __init__(self, max_bytes: int = MAX_FRAME_BYTES) -> None:
        """Refuse frames over ``max_bytes`` before their body is buffered."""
        self._buffer = bytearray()
        self._max_bytes = max_bytes

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk, return the frames it completed.

        Raises:
            WireError: for a frame over the limit; the connection is beyond repair.
        """
        self._buffer += chunk
        frames = []
        while len(self._buffer) >= HEADER.size:
            (length,) = HEADER.unpack_from(self._buffer)
            if length > self._max_bytes:
                raise WireError(f"frame of {length} bytes is over the limit of {self._max_bytes}")
            if len(self._buffer) < HEADER.size + length:
                break
            frames.append(bytes(self._buffer[HEADER.size : HEADER.size + length]))
            del self._buffer[: HEADER.size + length]
        return frames

    @property
    def pending_bytes(self) -> int:
        """Bytes of a frame that is not complete yet."""
        return len(self._buffer)
