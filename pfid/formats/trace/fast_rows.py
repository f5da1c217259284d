"""The quick way through Kineto's own files: search bytes for literals, and vouch for each found.

Kineto writes the keys of an event in one order and the text between them in one style, which is
learned from the head of the file. Every occurrence of a category's literal must then be a whole
row in that style, or a key; a segment that holds anything else is refused, and nothing of it is
taken. Within a string no literal can occur: there, quotes are escaped.
"""

import re
from dataclasses import dataclass
from typing import Final

from pfid.formats.trace.collected import CATEGORIES, OPERATORS, STEP, Collected, Row

_LITERALS: Final = (b'"kernel"', b'"gpu_mem')
_KEY: Final = re.compile(rb'"[^"\\]*"\s*:')
_STEP: Final = b'"' + STEP.encode()
_MARK: Final = _STEP[-1:]
_OPERATOR_MARKS: Final = (b"grouped_mm", b"aten::_s")
"""The name of each of the operators watched holds one of them; each costs a pass."""
_OPERATORS: Final = {
    mark: frozenset(
        name.encode()
        for name in OPERATORS
        if next(m for m in _OPERATOR_MARKS if m in name.encode()) == mark
    )
    for mark in _OPERATOR_MARKS
}
_NEAR_BYTES: Final = 400
"""Between the key of the phase and the name there is only the category."""
_NUMBER: Final = rb"(-?\d+(?:\.\d+)?)"
_PLACE: Final = rb'(-?\d+|"[^"\\]*")'
_NAME: Final = rb'\s*,\s*"name"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)"'
_DURATION: Final = rb'\s*,\s*"dur"\s*:\s*' + _NUMBER + rb"(?=\s*[,}])"
_FIRST: Final = re.compile(rb'\{(\s*)"ph"(\s*:\s*)"X"(\s*,\s*)"cat"(\s*:\s*)"')
_TS: Final = re.compile(rb'"ts"\s*:\s*(?=-?\d)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How one file writes its events.

    Attributes:
        before: what stands before the value of the category, from the event before on; an object
            within an event is preceded by something else.
        between: what stands between two events, to the first key of the second.
        start: the key of the begin and what stands before its value.
    """

    before: bytes
    between: bytes
    start: bytes


def learn(head: bytes) -> Style | None:
    """Read the style off the first events; None if they are not Kineto's."""
    first = _FIRST.search(head)
    if first is None:
        return None
    behind = head[first.end() :]
    opening = re.search(rb"\}(\s*,\s*)\{" + re.escape(first[1]) + rb'"', behind)
    start = _TS.search(behind)
    if opening is None or start is None:
        return None
    return Style(
        before=opening[1]
        + b"{"
        + first[1]
        + b'"ph"'
        + first[2]
        + b'"X"'
        + first[3]
        + b'"cat"'
        + first[4],
        between=b"}" + opening[1] + b"{" + first[1] + b'"ph"',
        start=start[0],
    )


class FastRows:
    """Takes whole events in bytes; refuses what it cannot vouch for."""

    def __init__(self, style: Style, into: Collected) -> None:
        """Build the expressions for one style."""
        self._style = style
        self._into = into
        wanted = b"|".join(name.encode() for name in CATEGORIES)
        place = rb'\s*,\s*"pid"\s*:\s*' + _PLACE + rb'\s*,\s*"tid"\s*:\s*' + _PLACE
        rest = _NAME + place + rb"\s*,\s*" + re.escape(style.start)
        self._place = re.compile(rb'"(%s)"' % wanted + rest, re.DOTALL)
        self._row = re.compile(
            re.escape(style.before) + rb'"(\w+)"' + rest + _NUMBER + _DURATION, re.DOTALL
        )
        self._times = re.compile(_NUMBER + _DURATION)
        self._known: dict[bytes, tuple[int, int]] = {}

    def first(self, buffer: bytes) -> int:
        """Return where an event begins that another one precedes, 0 if there is none."""
        return buffer.find(self._style.between) + 1

    def cut(self, buffer: bytes) -> int:
        """Return where the last event that is surely whole ends, 0 if there is none."""
        return buffer.rfind(self._style.between) + 1

    def scan(self, segment: bytes, end: int) -> bool:
        """Take the rows of whole events up to ``end``; False, and none taken, if it is not sure."""
        rows: list[Row] = []
        steps: list[tuple[bytes, bytes, bytes]] = []
        operators: list[bytes] = []
        sure = (
            all(self._rows(segment, literal, rows, end) for literal in _LITERALS)
            and self._steps(segment, steps, end)
            and all(self._operators(segment, mark, operators, end) for mark in _OPERATOR_MARKS)
        )
        if sure:
            self._into.add_rows(rows)
            for step in steps:
                self._into.add_raw_step(*step)
            for name in operators:
                self._into.add_raw_operator(name)
        return sure

    def _rows(self, segment: bytes, literal: bytes, rows: list[Row], end: int) -> bool:
        """Collect every row at a literal; False at the first occurrence that is none."""
        before, start, known = self._style.before, self._style.start, self._known
        width, skip, least = len(before), len(start), len(literal)
        find, starts_with, times = segment.find, segment.startswith, self._times.match
        at = find(literal, 0, end)
        while at >= 0:
            if at >= width and starts_with(before, at - width):
                begin = find(start, at, end) + skip
                match = times(segment, begin)
                place = known.get(segment[at:begin]) or self._identify(segment, at, begin)
                if match is None or place is None:
                    return False
                began, lasted = match.groups()
                rows.append((*place, began, lasted))
                at = find(literal, begin, end)
            elif _KEY.match(segment, at):
                at = find(literal, at + least, end)
            else:
                return False
        return True

    def _identify(self, segment: bytes, at: int, begin: int) -> tuple[int, int] | None:
        """Read kernel and track once for all rows that say them in the same bytes."""
        match = self._place.match(segment, at)
        if match is None:
            return None
        category, name, pid, tid = match.groups()
        place = self._into.raw_kernel(category, name), self._into.raw_track(pid, tid)
        self._known[segment[at:begin]] = place
        return place

    def _steps(self, segment: bytes, steps: list[tuple[bytes, bytes, bytes]], end: int) -> bool:
        """Look for the mark that ends the name: for a single byte a quarter of the time."""
        mark = segment.find(_MARK, 0, end)
        while mark >= 0:
            at = mark + 1 - len(_STEP)
            named = at >= 0 and segment.startswith(_STEP, at)
            if named and not self._step(segment, at, steps):
                return False
            mark = segment.find(_MARK, mark + 1, end)
        return True

    def _step(self, segment: bytes, at: int, steps: list[tuple[bytes, bytes, bytes]]) -> bool:
        row = self._row_around(segment, at)
        if row is None:
            return False
        category, name, _pid, _tid, start, duration = row
        if category == b"user_annotation":
            steps.append((name, start, duration))
        return True

    def _operators(self, segment: bytes, mark: bytes, operators: list[bytes], end: int) -> bool:
        at, wanted = segment.find(mark, 0, end), _OPERATORS[mark]
        while at >= 0:
            opening = segment.rfind(b'"', 0, at)
            closing = segment.find(b'"', at)
            name = segment[opening + 1 : closing]
            if name in wanted:
                row = self._row_around(segment, opening)
                if row is None:
                    return False
                if row[0] == b"cpu_op":
                    operators.append(name)
            at = segment.find(mark, max(at + 1, closing), end)
        return True

    def _row_around(self, segment: bytes, name_at: int) -> tuple[bytes, ...] | None:
        """Return category, name, pid, tid, ts, dur of the row whose name is quoted there."""
        near = segment.rfind(self._style.before, max(0, name_at - _NEAR_BYTES), name_at)
        match = self._row.match(segment, near) if near >= 0 else None
        if match is None or match.start(2) != name_at + 1:
            return None
        return match.groups()
