"""The header above a row of a table, in which units stand that its cells leave out."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

SEPARATED: Final = (".csv", ".tsv", ".tab")
MARKS: Final = ("|", "\t", ";", "&", ",")
LOOK_BACK: Final = 2_000
"""Rows above that are looked at for a header."""
_RULE: Final = re.compile(r"\s*[|+]?\s*:?[-=]{2,}[-=:|+\s]*\Z")
_BEGIN: Final = re.compile(r"\\begin\{(?:tabular|longtable|array|tabularx)")


def header_of(name: str, text: str, begins: int) -> str:
    """The header row of the table in which a line stands; "" if it stands in none.

    Args:
        name: of the file.
        text: that it holds.
        begins: where the line does.
    """
    ends = text.find("\n", begins)
    line = text[begins : len(text) if ends < 0 else ends]
    if name.lower().endswith(SEPARATED):
        return text[: text.find("\n")] if begins > 0 else ""
    if "|" in line:
        return _of_pipes(text, begins)
    return _of_latex(text, begins) if "&" in line else ""


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


def _of_pipes(text: str, begins: int) -> str:
    rows = []
    for _ in range(LOOK_BACK):
        if begins == 0:
            break
        before = text.rfind("\n", 0, begins - 1) + 1
        row = text[before : begins - 1]
        if "|" not in row and not _RULE.match(row):
            break
        rows.append(row)
        begins = before
    heads = [above for rule, above in pairwise(rows) if _RULE.match(rule) and "|" in above]
    return heads[-1] if heads else ""


def _of_latex(text: str, begins: int) -> str:
    opened = [m.end() for m in _BEGIN.finditer(text, max(begins - 100_000, 0), begins)]
    if not opened:
        return ""
    return next((r for r in text[opened[-1] : begins].splitlines() if "&" in r), "")


def _cells(row: str, mark: str) -> list[str]:
    cells, quoted, begin = [], False, 0
    for at, letter in enumerate(row):
        quoted ^= letter == '"' and mark in ",;\t"
        if letter == mark and not quoted and row[at - 1 : at] != "\\":
            cells.append(row[begin:at])
            begin = at + 1
    return [*cells, row[begin:]]
