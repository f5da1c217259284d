"""The quick way through Kineto's own files: whole events at once, typed, and only what is needed.

A segment of whole events is decoded by a validating JSON decoder that builds nothing of what is
not asked for; a segment in which it finds any fault is refused, and nothing of it is taken. Where
events end is found by the literal between two of them, learned from the head of the file: should it
stand elsewhere, the segment is no list of objects, and is refused too.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from pfid.formats.trace.collected import (
    CALLS,
    CATEGORIES,
    OPERATORS,
    STEP,
    Collected,
    Row,
    correlation,
)
from pfid.formats.trace.malformed import ZEROED

_DIGITS: Final = b"0123456789.-,"
_FIRST: Final = re.compile(rb'\{(\s*)"ph"\s*:\s*"X"\s*,\s*"cat"\s*:\s*"')
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_SEPARATING: Final = b" \t\r\n,"


_MISSING: Final = msgspec.Raw(b"null")


class _Arguments(msgspec.Struct, gc=False):
    correlation: Any = None


class _Event(msgspec.Struct, gc=False):
    """What is read of an event; times as written."""

    ph: str | None = None
    cat: str | None = None
    name: str | None = None
    pid: int | str | None = None
    tid: int | str | None = None
    ts: msgspec.Raw = _MISSING
    dur: msgspec.Raw = _MISSING
    args: _Arguments | None = None


_EVENTS: Final = msgspec.json.Decoder(list[_Event])


_Place = tuple[str, str, int | str | None, int | str | None]
"""Category, name, pid and tid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How one file writes its events.

    Attributes:
        between: what stands between two events, to the first key of the second.
    """

    between: bytes


def learn(head: bytes) -> Style | None:
    """Read the style off the first events; None if they are not Kineto's."""
    first = _FIRST.search(head)
    if first is None:
        return None
    opening = re.search(rb"\}(\s*,\s*)\{" + re.escape(first[1]) + rb'"', head[first.end() :])
    if opening is None:
        return None
    return Style(between=b"}" + opening[1] + b"{" + first[1] + b'"ph"')


class FastRows:
    """Takes whole events in bytes; refuses what it cannot vouch for."""

    def __init__(self, style: Style, into: Collected) -> None:
        """Begin with no kernel known."""
        self._style = style
        self._into = into
        self._known: dict[_Place, tuple[int, int]] = {}

    def first(self, buffer: bytes) -> int:
        """Return where an event begins that another one precedes, 0 if there is none."""
        return buffer.find(self._style.between) + 1

    def cut(self, buffer: bytes) -> int:
        """Return where the last event that is surely whole ends, 0 if there is none."""
        return buffer.rfind(self._style.between) + 1

    def scan(self, segment: bytes, end: int) -> bool:
        """Take the rows of whole events up to ``end``; False, and none taken, if it is not sure."""
        events = _decoded(segment, end)
        if events is None:
            return False
        kinds: dict[str | None, list[_Event]] = defaultdict(list)
        for one in events:
            kinds[one.cat].append(one)
        rows = [one for cat in CATEGORIES if cat in kinds for one in _spans(kinds[cat])]
        annotations = _spans(kinds.get("user_annotation", []))
        steps = [one for one in annotations if one.name and one.name.startswith(STEP)]
        calls = [one for cat in CALLS if cat in kinds for one in _spans(kinds[cat])]
        if not (_plain_times(rows) and _plain_times(steps) and _plain_times(calls)):
            return False
        self._into.add_rows(self._placed(rows))
        self._into.see_launching({one.pid for one in calls})
        self._into.see_stepping({one.pid for one in steps})
        if calls:
            begun = [bytes(one.ts) for one in calls]
            self._into.add_calls([_correlation(one) for one in calls], begun)
        for one in steps:
            self._into.add_step(one.name or "", bytes(one.ts), bytes(one.dur))
        for one in kinds.get("cpu_op", ()):
            if one.name in OPERATORS and one.ph == "X":
                self._into.see_operator("cpu_op", one.name or "")
        self._into.categories.update(cat for cat in kinds if cat is not None)
        return True

    def _placed(self, rows: list[_Event]) -> list[Row]:
        """Give rows their kernel and track."""
        known, placed = self._known, []
        for one in rows:
            key = one.cat or "", one.name or "", one.pid, one.tid
            place = known.get(key)
            if place is None:
                place = known[key] = self._into.place(*key)
            placed.append((*place, bytes(one.ts), bytes(one.dur), _correlation(one)))
        return placed


def _decoded(segment: bytes, end: int) -> list[_Event] | None:
    """Return the events up to ``end``, None if there is anything but whole objects in a row."""
    begin = segment.find(b"{", 0, end)
    if begin < 0 or segment[:begin].strip(_SEPARATING) or segment.find(ZEROED, 0, end) >= 0:
        return None
    listed = b"".join((b"[", memoryview(segment)[begin:end], b"]"))
    try:
        return _EVENTS.decode(listed)
    except (msgspec.DecodeError, RecursionError):
        pass
    text = listed.decode("utf-8", "replace")
    again = _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()
    if again == listed:
        return None
    try:
        return _EVENTS.decode(again)
    except (msgspec.DecodeError, RecursionError):
        return None


def _correlation(event: _Event) -> int:
    return correlation(event.args.correlation) if event.args is not None else 0


def _spans(events: list[_Event]) -> list[_Event]:
    """Leave out what is no named stretch of time."""
    return [one for one in events if one.ph == "X" and one.name is not None]


def _plain_times(events: list[_Event]) -> bool:
    """Whether all times are there, and numbers without an exponent."""
    times = b",".join([time for one in events for time in (one.ts, one.dur)])
    return not times.translate(None, _DIGITS)
