"""Where figures stand in a text: the quick look names places, their lines are read in full."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from pfid.adapters.figure_ripgrep import Hit
from pfid.adapters.figure_texts import BLOCK_BYTES, Block, blocks
from pfid.formats.figures.broken_lines import goes_on_below, joined_lines
from pfid.formats.figures.likely import LineLook
from pfid.formats.figures.prefilter import prefilter
from pfid.formats.figures.reading import figures_in
from pfid.formats.figures.told_rows import BELOW_CHARS, OMITTED
from pfid.formats.figures.wanted import Wanted
from pfid.formats.linear_regex import Pattern, PatternError, compile_utf8_spans
from pfid.formats.table_headers import HEADER_CHARS, SEPARATED, Headers, may_have_header

LINE_WINDOW: Final = 2_000
"""So much of a very long line, around what the prefilter found, is read as one."""
SPELLED_CHARS: Final = 200
"""So much behind a figure says what it is."""
CHAR_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Place:
    """Where a figure stands: file from the folder, line, and how it is spelled there."""

    path: str
    line: int
    key: str
    text: str


class Reader:
    """Reads files for figures."""

    def __init__(self, folder: Path, wanted: Sequence[Wanted]) -> None:
        """Take the root and what is looked for."""
        pattern = prefilter(wanted)
        self._folder, self._wanted = folder, wanted
        self.look = LineLook(wanted)
        self._pattern, self._quick = re.compile(pattern), _quick(pattern)

    def whole(self, path: str, encoding: str) -> Iterator[Place]:
        """Every figure of a file.

        Raises:
            OSError: if it cannot be read.
        """
        for block in blocks(self._folder / path, encoding, self._quick):
            finder = _Finder(block.text, self._pattern, self._quick)
            yield from _places(path, block, finder, self._wanted)

    def lines(self, path: str, encoding: str, hits: Sequence[Hit]) -> Iterator[Place]:
        """Every figure of the lines in which one may stand.

        What stands around a line is read in the file, where it says something of the line.

        Raises:
            OSError: if it cannot be read.
        """
        separated = is_separated(path)
        first = self._first(path) if separated else ""
        is_told = self.look.tells_over(first)
        with (self._folder / path).open("rb") as file:
            kept = []
            for hit in hits:
                text = hit.raw.decode(errors="replace")
                header = first if hit.at_byte else ""
                below = b"" if header or not goes_on_below(text) else _below(file.fileno(), hit)
                if not self._may_stand(hit.raw, below):
                    continue
                if hit.cut or (not separated and may_have_header(text)):
                    yield from self.whole(path, encoding)
                    return
                if (header and is_told) or self._is_told(text, below):
                    kept.append((hit, text, header, below))
            line, counted_to = 1, 0
            for hit, text, header, below in kept:
                under = below.decode(errors="replace")[:BELOW_CHARS]
                for one in figures_in(text, self._wanted, header, under):
                    line += _ends_of_lines(file, counted_to, hit.at_byte)
                    counted_to = hit.at_byte
                    yield Place(path, line, one.key, one.text)

    def is_told_above(self, path: str) -> bool:
        """Whether the first line of a file may say what the numbers below it are, or is empty.

        Raises:
            OSError: if it cannot be read.
        """
        first = self._first(path)
        return not first or self.look.tells_over(first)

    def _may_stand(self, line: bytes, below: bytes) -> bool:
        text = line + b"\n" + below
        return not text.isascii() or line.startswith(OMITTED) or self.look.has_digits(text)

    def _is_told(self, line: str, below: bytes) -> bool:
        if not below:
            return not line.isascii() or self.look.may_hold(line.encode(), line.encode())
        under = below.decode(errors="replace")[:BELOW_CHARS]
        here, told = f"{line}\n{under}", f"{line}\n{joined_lines(line, under)}"
        return not here.isascii() or self.look.may_hold(here.encode(), told.encode())

    def _first(self, path: str) -> str:
        """The first line of a file."""
        with (self._folder / path).open(encoding="utf-8", errors="replace", newline="") as file:
            return file.readline(HEADER_CHARS).removesuffix("\n")


def is_separated(path: str) -> bool:
    """Whether a file is a table of columns, whose first line is over all others."""
    return path.lower().endswith(SEPARATED)


def _ends_of_lines(file: BinaryIO, begin: int, end: int) -> int:
    """How many lines end between two places of a file."""
    file.seek(begin)
    ends, left = 0, end - begin
    while left > 0 and (body := file.read(min(left, BLOCK_BYTES))):
        ends += body.count(b"\n")
        left -= len(body)
    return ends


def _below(file: int, hit: Hit) -> bytes:
    """The beginning of the next line."""
    if hit.below is not None:
        return hit.below
    told = os.pread(file, BELOW_CHARS * CHAR_BYTES, hit.at_byte + len(hit.raw) + 1)
    return told.partition(b"\n")[0]


def _quick(pattern: str) -> Pattern | None:
    """An engine that reads twenty times as fast; None if it does not take so long a pattern."""
    try:
        return compile_utf8_spans(pattern)
    except PatternError:
        return None


class _Finder:
    """Where in a text something may stand, by the quick engine if it takes the pattern."""

    def __init__(self, text: str, pattern: re.Pattern[str], quick: Pattern | None) -> None:
        self._text, self._pattern, self._quick = text, pattern, quick
        self._data = text.encode() if quick is not None else b""
        self._plain = len(self._data) == len(text)
        self._letters = self._bytes = 0

    def behind(self, at: int) -> tuple[int, int] | None:
        """The next place, by its letters; ``at`` is never before the place that was found last."""
        if self._quick is None:
            found = self._pattern.search(self._text, at)
            return None if found is None else found.span()
        match = self._quick.search(self._data, self._to_byte(at))
        if match is None:
            return None
        first, last = match.span()
        if self._plain:
            return first, last
        self._letters += len(self._data[self._bytes : first].decode())
        self._bytes = first
        letters = len(self._data[first:last].decode(errors="replace"))
        return self._letters, self._letters + letters

    def _to_byte(self, at: int) -> int:
        if self._plain:
            return at
        self._bytes += len(self._text[self._letters : at].encode())
        self._letters = at
        return self._bytes


def _places(path: str, block: Block, finder: _Finder, wanted: Sequence[Wanted]) -> Iterator[Place]:
    text, seen = block.text, set[tuple[int, str]]()
    line, counted_to, headers = block.line, 0, Headers(path, text)
    at = block.above
    while (span := finder.behind(at)) is not None:
        line += text.count("\n", counted_to, span[0])
        counted_to = span[0]
        starts = text.rfind("\n", 0, span[0]) + 1
        begins = max(starts, span[0] - LINE_WINDOW)
        stops = text.find("\n", span[0])
        stops = len(text) if stops < 0 else stops
        ends = min(stops, span[1] + LINE_WINDOW)
        at = ends if ends == stops else ends - SPELLED_CHARS  # where what was read ends
        header = headers.over(begins) if begins == starts else ""
        below = text[ends + 1 : ends + 1 + BELOW_CHARS].partition("\n")[0] if ends == stops else ""
        for one in figures_in(text[begins:ends], wanted, header, below):
            if (begins + one.at, one.key) not in seen:
                seen.add((begins + one.at, one.key))
                yield Place(path, line, one.key, one.text)
