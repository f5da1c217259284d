"""The quick way through Kineto's own files: whole events at once, typed, and only what is needed.

A segment of whole events is decoded by a validating JSON decoder that builds nothing of what is
not asked for; a segment in which it finds any fault is refused, and nothing of it is taken. Where
events end is found by the literal between two of them, learned from the head of the file: should it
stand elsewhere, the segment is no list of objects, and is refused too.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Any, Final

import msgspec

from pfid.formats.trace.collected import (
    ANNOTATION,
    CALLS,
    CATEGORIES,
    OPERATION,
    OPERATORS,
    STEP,
    Collected,
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


class _Named(msgspec.Struct, gc=False):
    """What is read of an event that is counted by its name."""

    ph: str | None = None
    name: str | None = None


class _Timed(_Named, gc=False):
    """What is read of an event that takes its time; times as written."""

    pid: int | str | None = None
    tid: int | str | None = None
    ts: msgspec.Raw = _MISSING
    dur: msgspec.Raw = _MISSING
    args: _Arguments | None = None


class _Event(_Timed, gc=False):
    """What is read of an event of any category."""

    cat: str | None = None


class _Passed(msgspec.Struct, gc=False):
    """What is read of an event that is not wanted: nothing."""


_TIMED: Final = frozenset({*CATEGORIES, *CALLS, ANNOTATION})
_EVENTS: Final = msgspec.json.Decoder(list[_Event])
SURPRISES: Final = 8
"""After so many segments with categories that the head did not have, none is expected any more."""
_Place = tuple[str, str | None, int | str | None, int | str | None]
"""Category, name, pid and tid."""
_Kinds = dict[str, list[Any]]
"""Events by category."""


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

    def __init__(self, style: Style, into: Collected, categories: Iterable[str] = ()) -> None:
        """Begin with no kernel known; ``categories`` are those to expect beside the wanted ones."""
        self._style = style
        self._into = into
        self._known: dict[_Place, tuple[int, int]] = {}
        self._expected = _Expected({*categories, *_TIMED, OPERATION})

    def first(self, buffer: bytes) -> int:
        """Return where an event begins that another one precedes, 0 if there is none."""
        return buffer.find(self._style.between) + 1

    def cut(self, buffer: bytes) -> int:
        """Return where the last event that is surely whole ends, 0 if there is none."""
        return buffer.rfind(self._style.between) + 1

    def scan(self, segment: bytes, end: int) -> bool:
        """Take the rows of whole events up to ``end``; False, and none taken, if it is not sure."""
        kinds = self._expected.decoded(segment, end)
        if kinds is None:
            return False
        device: _Kinds = {cat: _spans(kinds[cat]) for cat in CATEGORIES if cat in kinds}
        rows = [one for mine in device.values() for one in mine]
        annotations = _spans(kinds.get(ANNOTATION, []))
        steps = [one for one in annotations if one.name.startswith(STEP)]
        calls = [one for cat in CALLS if cat in kinds for one in _spans(kinds[cat])]
        ran, stepped, called = _times(rows), _times(steps), _times(calls)
        if ran is None or stepped is None or called is None:
            return False
        self._into.add_rows(self._placed(device), *ran, _correlations(rows))
        self._into.see_launching({one.pid for one in calls})
        self._into.see_stepping({one.pid for one in steps})
        self._into.add_calls(_correlations(calls), called[0])
        for one, begun, lasted in zip(steps, *stepped, strict=True):
            self._into.add_step(one.name, begun, lasted)
        for one in kinds.get(OPERATION, ()):
            if one.name in OPERATORS and one.ph == "X":
                self._into.see_operator(OPERATION, one.name)
        self._into.categories.update(kinds)
        return True

    def _placed(self, device: _Kinds) -> list[tuple[int, int]]:
        """Give rows their kernel and track."""
        known, placed = self._known, []
        for cat, rows in device.items():
            for one in rows:
                key = cat, one.name, one.pid, one.tid
                place = known.get(key)
                if place is None:
                    place = known[key] = self._into.place(*key)
                placed.append(place)
        return placed


class _Expected:
    """Decodes events that are told by their category before anything of them is built."""

    def __init__(self, categories: set[str]) -> None:
        """Expect these; where there are others, every event is read as one of any category."""
        self._kinds: dict[type, str] = {_of_category(one): one for one in sorted(categories)}
        any_of_them = reduce(or_, self._kinds)
        self._decoder = msgspec.json.Decoder(GenericAlias(list, (any_of_them,)))
        self._surprises = 0

    def decoded(self, segment: bytes, end: int) -> _Kinds | None:
        """Return the events up to ``end``, None if there is anything but whole objects in a row."""
        begin = segment.find(b"{", 0, end)
        if begin < 0 or segment[:begin].strip(_SEPARATING) or _zeroed(segment, end):
            return None
        listed = b"".join((b"[", memoryview(segment)[begin:end], b"]"))
        if self._surprises < SURPRISES:
            events = _decoded(self._decoder, listed)
            if events is not None:
                return self._by_type(events)
            self._surprises += 1
        events = _decoded(_EVENTS, listed)
        return _by_category(_escaped(listed) if events is None else events)

    def _by_type(self, events: list[Any]) -> _Kinds:
        found: dict[type, list[Any]] = defaultdict(list)
        for one in events:
            found[type(one)].append(one)
        return {self._kinds[kind]: mine for kind, mine in found.items()}


def _of_category(category: str) -> type:
    base = _Timed if category in _TIMED else _Named if category == OPERATION else _Passed
    return msgspec.defstruct("_Known", [], bases=(base,), tag_field="cat", tag=category, gc=False)


def _by_category(events: list[Any] | None) -> _Kinds | None:
    if events is None:
        return None
    found: _Kinds = defaultdict(list)
    for one in events:
        if one.cat is not None:
            found[one.cat].append(one)
    return found


def _zeroed(segment: bytes, end: int) -> bool:
    """Whether a part was never written; looking for one zero is much cheaper than for a row."""
    return segment.find(b"\0", 0, end) >= 0 and segment.find(ZEROED, 0, end) >= 0


def _decoded(decoder: Any, listed: bytes) -> list[Any] | None:
    try:
        events: list[Any] = decoder.decode(listed)
    except (msgspec.DecodeError, RecursionError):
        return None
    return events


def _escaped(listed: bytes) -> list[Any] | None:
    """Return the events where control characters, or bytes that are no UTF-8, were in the way."""
    text = listed.decode("utf-8", "replace")
    again = _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()
    return None if again == listed else _decoded(_EVENTS, again)


def _correlations(events: list[Any]) -> list[int]:
    arguments = [one.args for one in events]
    return [0 if one is None else correlation(one.correlation) for one in arguments]


def _spans(events: list[Any]) -> list[Any]:
    """Leave out what is no named stretch of time."""
    return [one for one in events if one.ph == "X" and one.name is not None]


def _times(events: list[Any]) -> tuple[list[bytes], list[bytes]] | None:
    """Begins and durations as written; None unless all are there, numbers without an exponent."""
    if not events:
        return [], []
    begun = b",".join([one.ts for one in events])
    lasted = b",".join([one.dur for one in events])
    if begun.translate(None, _DIGITS) or lasted.translate(None, _DIGITS):
        return None
    return begun.split(b","), lasted.split(b",")
