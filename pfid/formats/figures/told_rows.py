r"""The rows that a search tells of lines and those below them, made ready for one look at all.

A row is a path, ``\0``, its place in the file, a mark and the line: ``\1`` where something may
stand in it, ``\2`` where it is only the one below. Of these is made one record for each of the
first; behind a line that goes on below follow, each behind ``\2``, the next one and both as one.
"""

import re
from collections.abc import Iterator
from typing import Final

from pfid.formats.figures.broken_lines import OPEN_IN_ASCII, joined_lines

BELOW_CHARS: Final = 120
"""So much of the next line, on which the unit of a last number may stand."""
OMITTED: Final = b"[Omitted long "
"""Begins what is told of a line that is too long to be told."""
UNKNOWN: Final = b"\3"
"""Ends a record whose line goes on below, where the next one was not told."""
_ROW: Final = re.compile(rb"([^\0\n]*\0)([0-9]+)([\1\2])([^\n]*)")
_OPEN: Final = re.compile(OPEN_IN_ASCII)
_OPEN_CHARS: Final = 60


def records(rows: bytes) -> bytes:
    """A record for each line in which something may stand, in order."""
    return b"\n".join(_records(rows))


def below_of(told: bytes) -> tuple[bytes, bytes | None]:
    """The line of what a record tells, and the one below it; None where that is not known."""
    line, mark, rest = told.partition(b"\2")
    if mark:
        return line, rest.partition(b"\2")[0]
    known = line.isascii() and not line.endswith(UNKNOWN)
    return line.removesuffix(UNKNOWN), b"" if known else None


def _records(rows: bytes) -> Iterator[bytes]:
    path, head, line, ends = b"", b"", b"", 0
    for found in _ROW.finditer(rows):
        name, place, mark, text = found.groups()
        if head:
            is_next = name == path and int(place) == ends
            yield _record(head, line, text if is_next else b"")
            head = b""
        if mark == b"\2":
            continue
        if b"\2" in text or UNKNOWN in text:
            yield name + place + mark + OMITTED
        elif _OPEN.search(text, max(len(text) - _OPEN_CHARS, 0)) is None:
            yield name + place + mark + text
        else:
            path, head, line = name, name + place + mark, text
            ends = int(place) + len(text) + 1
    if head:
        yield _record(head, line, b"")


def _record(head: bytes, line: bytes, below: bytes) -> bytes:
    under = below[:BELOW_CHARS]
    if under.startswith(OMITTED) or not (line.isascii() and under.isascii()) or b"\2" in under:
        return head + line + UNKNOWN
    both = joined_lines(line.decode(), under.decode()).encode()
    return b"\2".join((head + line, under, both))
