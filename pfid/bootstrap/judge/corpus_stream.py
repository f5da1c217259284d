"""A corpus as one stream of bytes, and where in it each of them stands."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from pfid.adapters.corpus_files import CorpusReading, Piece


class Folding:
    """Makes alike what is to count as alike; a word across two pieces stays one."""

    def __init__(self, normalise: str) -> None:
        """Take ``none`` or ``case_and_blanks``."""
        self._as_it_stands = normalise == "none"
        self._blank = True

    def fold(self, text: bytes, *, new: bool = True) -> bytes:
        """One piece of text."""
        if self._as_it_stands:
            return text
        self._blank = self._blank or new
        written = text.decode(errors="replace").lower()
        words = " ".join(written.split())
        if not words:
            folded = "" if self._blank or not written else " "
        else:
            before = " " if written[0].isspace() and not self._blank else ""
            folded = before + words + (" " if written[-1].isspace() else "")
        self._blank = folded.endswith(" ") if folded else self._blank
        return folded.encode(errors="replace")


@dataclass(slots=True)
class Places:
    """Which file, line and offset a byte of the stream is from.

    Attributes:
        exact: whether bytes of the stream are bytes of the file.
    """

    exact: bool
    _starts: "array[int]" = field(default_factory=lambda: array("q"))
    _files: "array[int]" = field(default_factory=lambda: array("l"))
    _lines: "array[int]" = field(default_factory=lambda: array("q"))
    _offsets: "array[int]" = field(default_factory=lambda: array("q"))

    def add(self, at: int, piece: Piece) -> None:
        """A piece begins here; one that goes on where the last ended needs no entry."""
        if self.exact and not piece.new:
            return
        self._starts.append(at)
        self._files.append(piece.file)
        self._lines.append(piece.line)
        self._offsets.append(piece.offset)

    def name(self, at: int, reading: CorpusReading) -> str:
        """The place of a byte: ``file:line``, and how many bytes in."""
        entry = bisect_right(self._starts, at) - 1
        if entry < 0:
            return "?"
        file = str(reading.files[self._files[entry]])
        line = f":{self._lines[entry]}" if self._lines[entry] else ""
        offset = self._offsets[entry]
        if not self.exact:
            return f"{file}{line}, from byte {offset} on"
        return f"{file}{line}, byte {offset + at - self._starts[entry]}"


def stream(
    reading: CorpusReading, folding: Folding, places: Places, boundary: bytes
) -> Iterator[bytes]:
    """The stream, with a boundary before each document."""
    at = 0
    for piece in reading.pieces():
        body = folding.fold(piece.text, new=piece.new)
        if piece.new:
            yield boundary
            at += len(boundary)
        places.add(at, piece)
        yield body
        at += len(body)


def excerpt(reading: CorpusReading, folding: Folding, chars: int) -> str:
    """The first ``chars`` characters in one piece that the corpus holds; "" if it has none."""
    for piece in reading.pieces():
        text = folding.fold(piece.text, new=piece.new).decode(errors="replace")
        for part in text.split("\ufffd"):
            if len(part) >= chars:
                return part[:chars]
    return ""
