"""Items of a long JSON document in pieces: the lines of JSON lines, the elements of a list.

So that memory follows a piece and not the document. A piece of a list is cut before something that
looks like the next element, and is taken only if it is a list of its own: a place inside a string
or a nested element leaves a bracket or a quote open, so what parses is whole elements.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, Protocol

import msgspec

from pfid.analysis.length_values import LengthsError

NO_JSON: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""How bytes that are no JSON, or not of the type asked for, are refused."""
PIECE_BYTES: Final = 1 << 20
_CUTS_TRIED: Final = 16
_SPACE: Final = b" \t\r\n"
_OPENER: Final = re.compile(rb'\[\s*(\{\s*"(?:[^"\\]|\\.)*"|["\[]?)', re.DOTALL)
_RAW: Final = msgspec.json.Decoder(msgspec.Raw)
_RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])


class Lines(Protocol):
    """Lines of a file."""

    def read(self, size: int, /) -> bytes:
        """Return about so many bytes; none at the end."""
        ...

    def readline(self) -> bytes:
        """Return the rest of a line."""
        ...


class Items(Protocol):
    """Items of one document.

    Attributes:
        unit: what one is called.
        first: the first of them.
    """

    unit: str
    first: Any

    def pieces(self) -> Iterator[bytes]:
        """Go through all of them, once."""
        ...

    def decoder(self, kind: Any) -> Any:
        """Return what decodes pieces whose items are all of one type."""
        ...

    def typed(self, piece: bytes, decoder: Any) -> list[Any]:
        """Return the items of a piece, all of the decoder's type.

        Raises:
            DecodeError: if one is not.
        """
        ...

    def plain(self, piece: bytes, taken: int, /) -> Iterator[tuple[int, Any]]:
        """Return each item of a piece with its number; ``taken`` is how many came before.

        Raises:
            LengthsError: for one that is no JSON.
        """
        ...


class LineItems:
    """JSON lines: the first one, what was read behind it, and the rest of the file."""

    unit = "line"

    def __init__(self, first: bytes, more: bytes, rest: Lines, before: int) -> None:
        """Begin behind ``before`` lines; ``first`` is JSON, ``more`` ends where a line does."""
        self.first = msgspec.json.decode(first)
        self._head, self._rest = first + more, rest
        self._line = before

    def pieces(self) -> Iterator[bytes]:
        """Go through whole lines."""
        piece = self._head
        while piece:
            yield piece
            self._line += piece.count(b"\n")
            piece = self._rest.read(PIECE_BYTES)
            if piece and not piece.endswith(b"\n"):
                piece += self._rest.readline()

    def decoder(self, kind: Any) -> Any:
        """Decode a line."""
        return msgspec.json.Decoder(kind)

    def typed(self, piece: bytes, decoder: Any) -> list[Any]:
        """Return a record a line; two in one line are refused as a single bad one is."""
        rows: list[Any] = decoder.decode_lines(piece)
        if len(rows) > piece.count(b"\n") + (not piece.endswith(b"\n")):
            raise msgspec.DecodeError("more than one record in a line")
        return rows

    def plain(self, piece: bytes, _taken: int, /) -> Iterator[tuple[int, Any]]:
        """Number items by their line in the file, empty ones counted."""
        for number, line in enumerate(piece.split(b"\n"), self._line + 1):
            if line.strip():
                try:
                    yield number, msgspec.json.decode(line)
                except NO_JSON as error:
                    raise LengthsError(f"line {number}: no JSON: {error}") from error


class ListItems:
    """Elements of a list."""

    unit = "record"

    def __init__(self, data: bytes) -> None:
        """Begin; ``data`` is a JSON list that has an element.

        Raises:
            ValueError: if it has none.
        """
        self._data = data
        first = next(list_pieces(data), b"[]")
        elements = _RAWS.decode(first)
        if not elements:
            raise ValueError("there is no record")
        self.first = msgspec.json.decode(elements[0])

    def pieces(self) -> Iterator[bytes]:
        """Go through lists that together hold the elements."""
        return list_pieces(self._data)

    def decoder(self, kind: Any) -> Any:
        """Decode a list."""
        return msgspec.json.Decoder(list[kind])

    def typed(self, piece: bytes, decoder: Any) -> list[Any]:
        """Return the elements."""
        elements: list[Any] = decoder.decode(piece)
        return elements

    def plain(self, piece: bytes, taken: int, /) -> Iterator[tuple[int, Any]]:
        """Number elements from 1."""
        return enumerate(msgspec.json.decode(piece), taken + 1)


def is_json(data: bytes) -> bool:
    """Whether this is one JSON value; nothing of it is kept."""
    try:
        _RAW.decode(data)
    except NO_JSON:
        return False
    return True


def list_pieces(data: bytes) -> Iterator[bytes]:
    """Cut a JSON list into lists of some ``PIECE_BYTES``; none for an empty one."""
    opening = _OPENER.match(data, data.index(b"["))
    opener = opening[1] if opening else b""
    at, end = data.index(b"[") + 1, data.rindex(b"]")
    if not data[at:end].strip(_SPACE):
        return
    while at < end:
        cut, wide = end, PIECE_BYTES
        while at + wide < end:
            found = _whole(data, opener, at, at + wide)
            if found:
                cut = found
                break
            wide *= 2
        yield b"[" + data[at:cut] + b"]"
        at = cut + 1


def _whole(data: bytes, opener: bytes, at: int, stop: int) -> int:
    """Return the last comma before ``stop`` that ends whole elements, 0 if none is found."""
    for cut in islice(_commas(data, opener, at, stop), _CUTS_TRIED):
        if is_json(b"[" + data[at:cut] + b"]"):
            return cut
    return 0


def _commas(data: bytes, opener: bytes, at: int, stop: int) -> Iterator[int]:
    """Commas before what looks like the beginning of an element, the last one first."""
    found = data.rfind(opener or b",", at, stop)
    while found > at:
        comma = found
        if opener:
            comma -= 1
            while comma > at and data[comma] in _SPACE:
                comma -= 1
        if data[comma] == ord(","):
            yield comma
        found = data.rfind(opener or b",", at, found)
