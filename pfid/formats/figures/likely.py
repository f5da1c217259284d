"""Which of the wanted figures may stand in a text: their digits, and what must be beside them.

What the full reading costs half a millisecond for, this answers in some microseconds.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from pfid.formats.figures.broken_lines import OPEN_IN_ASCII
from pfid.formats.figures.hints import hint_of
from pfid.formats.figures.prefilter import prefilter
from pfid.formats.figures.told_rows import UNKNOWN, records, with_below
from pfid.formats.figures.wanted import Wanted
from pfid.formats.linear_regex import Pattern, PatternError, compile_bytes, compile_utf8_spans
from pfid.formats.table_headers import cells_of
from pfid.formats.unit_names import units_over
from pfid.formats.units import unit_of

KEPT: Final = 1_024


_MARKED: Final = rb"&[#A-Za-z]|<[!/A-Za-z]|\{[.,]\}|\\[A-Za-z,;:! ]|\$|[0-9]~[A-Za-z\\%]"
"""Begins every markup of a line in ASCII, which may hide what is looked for."""
_MARKS: Final = compile_bytes(_MARKED)
_ROW_MARKS: Final = (
    _MARKED + rb"|[&|\x80-\xff]|\x00[0-9]+\x01[^\n\x1c]*\S[^\n\x1c]*\t|\[Omitted long "
)
"""In every row whose line is read whatever it says: it may be of a table."""
_UNREAD: Final = rb"[\x80-\xff]|\x01\[Omitted long |\x01[^\n\x1c]*" + OPEN_IN_ASCII.replace(
    rb"|$", b""
)
"""In every row of which it takes more to say that no digits of a figure are in it."""
_TOP: Final = rb"\x000\x01"
"""In the row of a first line, which may go on below."""


class LineLook:
    """The quickest look at a line in ASCII, with the next one where it goes on there."""

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        """Take what is looked for."""
        bare = [one for one in wanted if hint_of(one) is None]
        self._digits = _digits_of_all(tuple(wanted))
        self._in_rows = _digits_in_rows(tuple(wanted))
        self._bare = _digits_in_rows(tuple(bare)) if bare else None
        self._all_told = bool(bare) and self._bare is None
        self._looks = list(dict.fromkeys((_digits_of(one), hint_of(one)) for one in wanted))
        self._rows = list(dict.fromkeys((_digits_in_rows((one,)), hint_of(one)) for one in wanted))
        self._wanted = wanted
        self._tells: dict[str, bool] = {}

    def has_digits(self, text: bytes) -> bool:
        """Whether the digits of a figure may stand in it."""
        return self._digits is None or self._digits.search(text) is not None

    def may_hold(self, digits_in: bytes, told_in: bytes) -> bool:
        """Whether a text may hold the digits of a figure, and another what says that they are."""
        return _is_in(_MARKS, told_in) or any(
            _is_in(digits, digits_in) and _is_in(hint, told_in) for digits, hint in self._looks
        )

    def tells_over(self, header: str) -> bool:
        """Whether the header of a table may say what the numbers below it are."""
        if header not in self._tells:
            if len(self._tells) >= KEPT:  # tables of one kind have one
                self._tells.clear()
            self._tells[header] = self._tells_over(header)
        return self._tells[header]

    def _tells_over(self, header: str) -> bool:
        plain = header.encode()
        return (
            not plain.isascii()
            or _is_in(_MARKS, plain)
            or any(hint is not None and _is_in(hint, plain) for _, hint in self._looks)
            or any(_over(one, header) for one in self._wanted)
        )

    def worth(self, rows: bytes) -> Iterator[bytes]:
        """Records of those of many rows that may hold what tells a figure, in order.

        Both are as :mod:`pfid.formats.figures.told_rows` has them. A line of a table is among
        them, whatever it says.
        """
        told = with_below(rows)
        return self._worth(records(told, self._with_digits(told)), UNKNOWN)

    def worth_of_columns(self, rows: bytes) -> Iterator[bytes]:
        """The same of rows of files whose first line is over all others, and does not tell."""
        return self._worth(rows, _TOP)

    def _with_digits(self, rows: bytes) -> list[tuple[int, int]]:
        if self._in_rows is None:
            return [found.span() for found in compile_bytes(rb"[^\n]+").finditer(rows)]
        kept = set(_rows_with(compile_bytes(_UNREAD), rows))
        return sorted(kept.union(_rows_with(self._in_rows, rows)))

    def _worth(self, rows: bytes, also: bytes) -> Iterator[bytes]:
        if self._all_told:
            yield from rows.split(b"\n")
            return
        kept = set(_rows_with(compile_bytes(_ROW_MARKS + b"|" + also), rows))
        if self._bare is not None:
            kept.update(_rows_with(self._bare, rows))
        for digits, hint in self._rows:
            if hint is not None:
                told = _rows_with(hint, rows)
                kept.update(at for at in told if _is_in(digits, rows[slice(*at)]))
        for begin, end in sorted(kept):
            yield rows[begin:end]


def _is_in(look: Pattern | None, text: bytes) -> bool:
    return look is None or look.search(text) is not None


def _rows_with(look: Pattern, rows: bytes) -> Iterator[tuple[int, int]]:
    """Where each row begins and ends in which a match begins."""
    end = -1
    while (found := look.search(rows, end + 1)) is not None:
        at = found.start()
        begin, end = rows.rfind(b"\n", 0, at) + 1, rows.find(b"\n", at)
        end = len(rows) if end < 0 else end
        yield begin, end


def likely(wanted: Sequence[Wanted], text: str, around: str, over: str) -> list[Wanted]:
    """The figures that are worth a full reading.

    Args:
        wanted: figures.
        text: in which the digits would stand.
        around: in which what says what they are would stand, the text among it.
        over: header of the column, or of the table.
    """
    here = text.encode(errors="replace")
    beside = here if around == text and not over else f"{around}\n{over}".encode(errors="replace")
    return [one for one in wanted if _may_stand(one, here, beside, over)]


def _may_stand(one: Wanted, here: bytes, beside: bytes, over: str) -> bool:
    digits = _digits_of(one)
    if digits is not None and digits.search(here) is None:
        return False
    hint = hint_of(one)
    return hint is None or hint.search(beside) is not None or _over(one, over)


def _over(one: Wanted, over: str) -> bool:
    meant = unit_of(one.unit) if over else None
    return meant is not None and meant.dimension in _dimensions(over)


@lru_cache(maxsize=KEPT)
def _dimensions(over: str) -> frozenset[str]:
    """Of the units that a header, or any cell of it, names."""
    cells = {over, *over.split("<th>"), *(cell for _, _, cell in cells_of(over, over))}
    return frozenset(unit.dimension for cell in cells for unit in units_over(cell))


def _digits_of(one: Wanted) -> Pattern | None:
    return _digits_of_all((one,))


@lru_cache(maxsize=KEPT)
def _digits_in_rows(wanted: tuple[Wanted, ...]) -> Pattern | None:
    """The same of records, in which a line ends where the one below is told."""
    try:
        return compile_utf8_spans(prefilter(wanted).replace(r"\n", r"[\n\x1c]"))
    except PatternError:
        return None


@lru_cache(maxsize=KEPT)
def _digits_of_all(wanted: tuple[Wanted, ...]) -> Pattern | None:
    """None if the quick engine does not take the pattern: then nothing is passed over."""
    try:
        return compile_utf8_spans(prefilter(wanted))
    except PatternError:
        return None
