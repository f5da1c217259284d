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
HTML_CHARS: Final = 200_000
"""So far below its beginning a table of HTML is read."""
ROW_CHARS: Final = 20_000
_HTML_HEAD: Final = re.compile(
    r"<th\b[^<>]*>(.*?)(?=</th>|<th\b|</tr>|\Z)", re.DOTALL | re.IGNORECASE
)
_HTML_CELL: Final = re.compile(r"<t[dh]\b[^<>]*>", re.IGNORECASE)
_ROW_ENDS: Final = re.compile(r"</tr", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]{0,300}>")
_BEGIN: Final = re.compile(r"\\begin\{(?:tabular|longtable|array|tabularx)")


def may_have_header(line: str) -> bool:
    """Whether a line may be a row of a table, whose header :class:`Headers` looks for."""
    return "|" in line or "&" in line or "\t" in line.strip() or _HTML_CELL.search(line) is not None


class Headers:
    """The header rows of one file; lines are asked for in their order."""

    def __init__(self, name: str, text: str) -> None:
        """Take the name of a file and what it holds."""
        self._text = text
        self._first = text[: text.find("\n")] if name.lower().endswith(SEPARATED) else None
        self._at = -1
        self._header = ""
        self._table, self._heads = -1, [""]

    def over(self, begins: int) -> str:
        """The header of the table in which the line that begins there stands; "" for none."""
        text = self._text
        if self._first is not None:
            return self._first[:HEADER_CHARS] if begins > 0 else ""
        ends = text.find("\n", begins, begins + HEADER_CHARS)
        line = text[begins : begins + HEADER_CHARS if ends < 0 else ends]
        if "|" in line:
            found = self._of_pipes(begins)
        elif _HTML_CELL.search(line) is not None:
            found = self._of_html(begins)
        elif "\t" in line.strip():
            found = self._of_tabs(begins, line)
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

    def _of_html(self, begins: int) -> str:
        """Heads of the table in the line's columns: those left of a row begun above are passed."""
        table = self._last("<table", max(self._table, begins - HTML_CHARS, 0), begins)
        if table != self._table and table >= 0:
            ends = _ROW_ENDS.search(self._text, table, table + ROW_CHARS)
            until = ends.start() if ends is not None else table + ROW_CHARS
            told = _HTML_HEAD.findall(self._text, table, until)
            self._table, self._heads = table, [_TAG.sub(" ", one).strip() for one in told]
        if table < 0:
            return ""
        row = self._last("<tr", max(begins - ROW_CHARS, table), begins)
        closed = self._last("</tr", max(begins - ROW_CHARS, table), begins)
        passed = len(_HTML_CELL.findall(self._text, row, begins)) if row > closed else 0
        return "".join(f"<th>{head}" for head in self._heads[passed:])

    def _last(self, tag: str, begin: int, end: int) -> int:
        return max(self._text.rfind(one, begin, end) for one in (tag, tag.upper()))

    def _of_tabs(self, begins: int, line: str) -> str:
        """The top of the lines above with as many columns."""
        columns, top = line.strip().count("\t"), ""
        for _ in range(LOOK_BACK):
            if begins == 0:
                break
            before = self._text.rfind("\n", 0, begins - 1) + 1
            row = self._text[before : min(begins - 1, before + HEADER_CHARS)]
            if row.strip().count("\t") != columns:
                break
            top, begins = row, before
        return top

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
    if header.startswith("<th>"):
        yield from _html_cells(header, row)
        return
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


def _html_cells(header: str, row: str) -> Iterator[tuple[int, str, str]]:
    over = header.split("<th>")[1:]
    begins = [found.start() for found in _HTML_CELL.finditer(row)]
    for place, (begin, end) in enumerate(pairwise((*begins, len(row)))):
        yield begin, row[begin:end], over[place] if place < len(over) else ""


def _cells(row: str, mark: str) -> list[str]:
    cells, quoted, begin = [], False, 0
    for at, letter in enumerate(row):
        quoted ^= letter == '"' and mark in ",;\t"
        if letter == mark and not quoted and row[at - 1 : at] != "\\":
            cells.append(row[begin:at])
            begin = at + 1
    return [*cells, row[begin:]]
