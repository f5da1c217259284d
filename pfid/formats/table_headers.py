"""The header above a row of a table, in which units stand that its cells leave out."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

SEPARATED: Final = (".csv", ".tsv", ".tab")
MARKS: Final = ("|", "\t", ";", "&", ",")
LOOK_BACK: Final = 2_000
"""Rows above that are looked at for a header."""
HEADER_CHARS: Final = 4_000
LATEX_CHARS: Final = 100_000
_RULE: Final = re.compile(r"\s*[|+]?\s*:?[-=]{2,}[-=:|+\s]*\Z")
_BEGIN: Final = re.compile(r"\\begin\{(?:tabular|longtable|array|tabularx)")


class Headers:
    """The header rows of one file; lines are asked for in their order."""

    def __init__(self, name: str, text: str) -> None:
        """Take the name of a file and what it holds."""
        self._text = text
        self._first = text[: text.find("\n")] if name.lower().endswith(SEPARATED) else None
        self._at = -1
        self._header = ""

    def over(self, begins: int) -> str:
        """The header of the table in which the line that begins there stands; "" for none."""
        text = self._text
        if self._first is not None:
            return self._first[:HEADER_CHARS] if begins > 0 else ""
        ends = text.find("\n", begins, begins + HEADER_CHARS)
        line = text[begins : begins + HEADER_CHARS if ends < 0 else ends]
        if "|" in line:
            found = self._of_pipes(begins)
        elif "&" in line:
            found = self._of_latex(begins)
        else:
            return ""
        self._at, self._header = begins, found[:HEADER_CHARS]
        return self._header

    def _of_pipes(self, begins: int) -> str:
        """Go up to the top of the table, or to the row of it that was asked for before."""
        rows: list[str] = []
        known = ""
        for _ in range(LOOK_BACK):
            if begins == 0:
                break
            before = self._text.rfind("\n", 0, begins - 1) + 1
            row = self._text[before : min(begins - 1, before + HEADER_CHARS)]
            if "|" not in row and not _RULE.match(row):
                break
            rows.append(row)
            begins = before
            if before == self._at:
                known = self._header
                break
        heads = [above for rule, above in pairwise(rows) if _RULE.match(rule) and "|" in above]
        return known or (heads[-1] if heads else "")

    def _of_latex(self, begins: int) -> str:
        text, since = self._text, max(begins - LATEX_CHARS, 0)
        if 0 <= since <= self._at and "\\begin{" not in text[self._at : begins]:
            return self._header
        opened = [found.end() for found in _BEGIN.finditer(text, since, begins)]
        if not opened:
            return ""
        rows = text[opened[-1] : begins].splitlines()
        return next((row for row in rows if "&" in row), "")


def cells_of(header: str, row: str) -> Iterator[tuple[int, str, str]]:
    """Each cell of a row: where it begins, what it holds, and what the header says over it.

    A line without a header is one cell.
    """
    mark = next((m for m in MARKS if m in header), "")
    if not mark:
        yield 0, row, header
        return
    over = _cells(header, mark)
    framed = header.lstrip().startswith(mark), row.lstrip().startswith(mark)
    shift = framed[0] - framed[1] if mark == "|" else 0
    at = 0
    for place, cell in enumerate(_cells(row, mark)):
        yield at, cell, over[place + shift] if 0 <= place + shift < len(over) else ""
        at += len(cell) + 1


def _cells(row: str, mark: str) -> list[str]:
    cells, quoted, begin = [], False, 0
    for at, letter in enumerate(row):
        quoted ^= letter == '"' and mark in ",;\t"
        if letter == mark and not quoted and row[at - 1 : at] != "\\":
            cells.append(row[begin:at])
            begin = at + 1
    return [*cells, row[begin:]]
