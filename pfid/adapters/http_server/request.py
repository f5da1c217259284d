"""The head of a request: bytes to what the server needs to know, and nothing else."""

import re
from dataclasses import dataclass
from typing import Final

HEAD_MAX_BYTES: Final = 8 * 1024
_END: Final = re.compile(rb"\r?\n\r?\n")
_LINE: Final = re.compile(rb"([A-Z]{1,16}) ([!-~]{1,2000}) HTTP/1\.([01])\Z")
_HEADER: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}\Z")


class BadRequestError(Exception):
    """Not a request that will be answered with anything but an error."""

    def __init__(self, status: int) -> None:
        """Take the status that says why."""
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request without a body.

    Attributes:
        method: as sent, upper case.
        path: without the query.
        gzip: whether the client takes gzip.
        keep_alive: whether it wants to go on using the connection.
    """

    method: str
    path: str
    gzip: bool
    keep_alive: bool


def head_end(buffer: bytes | bytearray) -> int | None:
    """Offset behind the first complete head, None while there is none.

    Raises:
        BadRequestError: 431 if the head is longer than a head may be.
    """
    end = _END.search(buffer, 0, HEAD_MAX_BYTES + 4)
    if end is not None:
        return end.end()
    if len(buffer) > HEAD_MAX_BYTES:
        raise BadRequestError(431)
    return None


def parse(head: bytes) -> Request:
    """Read a complete head.

    Raises:
        BadRequestError: 400 for what is no HTTP/1 request, 413 for one with a body.
    """
    first, *lines = head.replace(b"\r\n", b"\n").rstrip(b"\n").split(b"\n")
    line = _LINE.match(first)
    if line is None:
        raise BadRequestError(400)
    headers = _headers(lines)
    if headers.get(b"content-length", b"0").strip(b"0") or b"transfer-encoding" in headers:
        raise BadRequestError(413)
    wants = headers.get(b"connection", b"").lower()
    return Request(
        method=line[1].decode(),
        path=line[2].decode().partition("?")[0],
        gzip=_takes_gzip(headers.get(b"accept-encoding", b"")),
        keep_alive=b"close" not in wants and (line[3] == b"1" or b"keep-alive" in wants),
    )


def _headers(lines: list[bytes]) -> dict[bytes, bytes]:
    headers = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _HEADER.match(name):
            raise BadRequestError(400)
        headers[name.lower()] = value.strip()
    return headers


def _takes_gzip(accept: bytes) -> bool:
    for coding in accept.lower().split(b","):
        name, _, quality = coding.strip().partition(b";")
        if name.strip() in (b"gzip", b"*"):
            return not re.fullmatch(rb"\s*q\s*=\s*0(\.0*)?\s*", quality)
    return False
