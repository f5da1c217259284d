r"""The rows that a search tells of lines and those below them, made ready for one look at all.

A row is a path, ``\0``, its place in the file, a mark and the line: ``\1`` where something may
stand in it, ``\2`` where it is only the one below. Of these is made one record for each of the
first; behind a line that goes on below follow, each behind a mark, the next one and both as one.
"""

import re
from collections.abc import Iterable
from typing import Final

from pfid.formats.figures.broken_lines import OPEN_IN_ASCII, joined_lines

BELOW_CHARS: Final = 120
"""So much of the next line, on which the unit of a last number may stand."""
OMITTED: Final = b"[Omitted long "
"""Begins what is told of a line that is too long to be told."""
BELOW: Final = b"\x1c"
"""Before what is below, as the end of a line a blank."""
UNKNOWN: Final = b"\x1d"
"""Ends a record whose line goes on below, where it takes the file to say how."""
_MARKS_TO_BLANKS: Final = bytes.maketrans(BELOW + UNKNOWN, b"\x1e\x1e")
_ROW_BELOW: Final = re.compile(rb"\n[^\0\n]*\0[0-9]+\x02")
_OPEN: Final = re.compile(OPEN_IN_ASCII)
_OPEN_CHARS: Final = 60


def with_below(rows: bytes) -> bytes:
    """The rows, each line below another at the end of that one's."""
    return _ROW_BELOW.sub(BELOW, rows.translate(_MARKS_TO_BLANKS))


def records(rows: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """A record for each of some rows, in order.

    Args:
        rows: as :func:`with_below` makes them.
        spans: where each of those that are taken begins and ends.
    """
    return b"\n".join(_record(rows, begin, end) for begin, end in spans)


def below_of(told: bytes) -> tuple[bytes, bytes | None]:
    """The line of what a record tells, and the one below it; None where that is not known."""
    line, mark, rest = told.partition(BELOW)
    if mark:
        return line, rest.partition(BELOW)[0]
    known = line.isascii() and not line.endswith(UNKNOWN)
    return line.removesuffix(UNKNOWN), b"" if known else None


def _record(rows: bytes, begin: int, end: int) -> bytes:
    row, mark, below = rows[begin:end].partition(BELOW)
    if _OPEN.search(row, max(len(row) - _OPEN_CHARS, 0)) is None:
        return row
    under = below if mark else _next(rows, row, end)
    under = under[:BELOW_CHARS]
    if under.startswith(OMITTED) or not (row.isascii() and under.isascii()):
        return row + UNKNOWN
    line = row.partition(b"\1")[2]
    return BELOW.join((row, under, joined_lines(line.decode(), under.decode()).encode()))


def _next(rows: bytes, row: bytes, end: int) -> bytes:
    """The line of the next row, if it is the one below."""
    head, _, line = row.partition(b"\1")
    path, _, place = head.partition(b"\0")
    below = b"%b\0%d\1" % (path, int(place) + len(line) + 1)
    if not rows.startswith(below, end + 1):
        return b""
    begin = end + 1 + len(below)
    return rows[begin : begin + BELOW_CHARS].partition(b"\n")[0].partition(BELOW)[0]
