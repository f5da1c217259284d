"""Read a trace in chunks: learn its style, take the quick way while it can be vouched for.

The first thousand events go through a real parser; the quick way must find the same in the same
bytes before it is used at all. From the first segment that it refuses, the real parser reads on,
from the last whole event: nothing is read twice, nothing skipped, and the reading says so.

The quick way vouches for every byte that it goes past: a record that is damaged or missing in part,
be it of the host or a device row, makes it refuse the segment, and the parser names the damage.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from pfid.domain.trace_rows import DeviceRows, Track
from pfid.formats.trace.collected import Collected
from pfid.formats.trace.event_stream import EventStream, Place
from pfid.formats.trace.fast_rows import FastRows, learn
from pfid.formats.trace.malformed import Malformed

HEAD_EVENTS: Final = 1_000
HEAD_MAX_BYTES: Final = 8 << 20
HEAD_PIECE_BYTES: Final = 1 << 16
"""So little at a time goes through the real parser before the quick way is asked for."""
BUFFER_MAX_BYTES: Final = 32 << 20
"""Bytes without the end of an event after which the quick way gives up."""


class Way(Enum):
    """How the events were read."""

    FAST = "fast"
    PARSER = "parser"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How far a trace was read.

    Attributes:
        way: the quick way to the end, or the real parser from ``parser_from_byte`` on.
        parser_from_byte: None if the quick way went through.
        cut: the document does not end: what is told holds for what was read.
        malformed: records that could not be parsed and were skipped, and rows whose times are no
            times (missing, negative, absurd).
        events: the document has a list of events.
        behind: characters behind the end of the document, which were not read.
        facts: what stands beside the events (deviceProperties, distributedInfo, ...).
    """

    way: Way
    parser_from_byte: int | None
    bytes_read: int
    cut: bool
    malformed: Malformed
    events: bool
    facts: dict[str, Any]
    behind: int = 0


class TraceReader:
    """Takes a trace's bytes in any portions."""

    def __init__(self, head_events: int = HEAD_EVENTS) -> None:
        """Begin before the first byte."""
        self.collected = Collected()
        self._head_events = head_events
        self._stream: EventStream | None = EventStream(self.collected.malformed)
        self._fast: FastRows | None = None
        self._head = bytearray()
        self._head_seen = 0
        self._in_head = True
        self._buffer = b""
        self._bytes = 0
        self._parser_from: int | None = 0
        self._facts: dict[str, Any] = {}
        self._bare = False
        self._cut = True
        self._behind = 0

    def feed(self, chunk: bytes) -> DeviceRows:
        """Take a chunk; return the rows that are complete."""
        while chunk and self._in_head:
            self._take(chunk[:HEAD_PIECE_BYTES])
            chunk = chunk[HEAD_PIECE_BYTES:]
        if chunk:
            self._take(chunk)
        return self.collected.take_rows()

    def _take(self, chunk: bytes) -> None:
        self._bytes += len(chunk)
        if self._fast is not None:
            self._quick(chunk)
        else:
            self._parse(chunk)

    def finish(self) -> DeviceRows:
        """Take the end of the bytes; return the last rows."""
        if self._fast is not None:
            self._finish_quick()
        if self._stream is not None:
            for event in self._stream.finish():
                self.collected.add_event(event)
            self._cut, self._behind = self._stream.cut, self._stream.behind
            self._facts |= self._stream.facts
        return self.collected.take_rows()

    def reading(self) -> Reading:
        """Say how far the trace was read; to be asked after ``finish``."""
        return Reading(
            way=Way.FAST if self._parser_from is None else Way.PARSER,
            parser_from_byte=self._parser_from,
            bytes_read=self._bytes,
            cut=self._cut,
            malformed=self.collected.malformed,
            events=self._stream is None or self._stream.events_seen,
            facts=self._facts,
            behind=self._behind,
        )

    def _parse(self, chunk: bytes) -> None:
        stream = self._stream
        if stream is None:
            return
        if self._in_head:
            self._head += chunk
        for event in stream.feed(chunk):
            self.collected.add_event(event)
            self._head_seen += 1
        if self._in_head and stream.place is not Place.EVENTS:
            self._in_head = stream.place in (Place.START, Place.DOCUMENT) and not self._head_seen
        elif self._in_head and self._head_seen >= self._head_events:
            self._in_head = False
            self._change_over(stream)
        if len(self._head) > HEAD_MAX_BYTES:
            self._in_head = False
        if not self._in_head:
            self._head = bytearray()

    def _change_over(self, stream: EventStream) -> None:
        """Go the quick way if it finds in the head what the parser found."""
        head = bytes(self._head)
        style = learn(head)
        if style is None:
            return
        trial = Collected()
        fast = FastRows(style, trial, self.collected.categories)
        sample = head[fast.first(head) : fast.cut(head)]
        if not sample or not fast.scan(sample, len(sample)):
            return
        check = Collected()
        parsed = EventStream(check.malformed, place=Place.EVENTS)
        for event in parsed.feed(sample):
            check.add_event(event)
        if check.malformed.damaged or parsed.place is not Place.EVENTS or not _same(trial, check):
            return
        self._fast = FastRows(style, self.collected, self.collected.categories)
        self._stream, self._parser_from = None, None
        self._facts, self._bare = stream.facts, stream.bare
        self._buffer = stream.remainder()

    def _quick(self, chunk: bytes) -> None:
        fast = self._fast
        if fast is None:
            return
        buffer = self._buffer + chunk
        end = fast.cut(buffer)
        if end and fast.scan(buffer, end):
            self._buffer = buffer[end:]
        elif end or len(buffer) > BUFFER_MAX_BYTES:
            self._give_up(buffer)
        else:
            self._buffer = buffer

    def _finish_quick(self) -> None:
        """Read the last events and what stands behind them with the real parser."""
        buffer, self._buffer = self._buffer, b""
        stream = self._parser(self._bytes - len(buffer))
        for events in (stream.feed(buffer), stream.finish()):
            for event in events:
                self.collected.add_event(event)
        self._cut, self._behind = stream.cut, stream.behind
        self._facts |= stream.facts
        self._fast = None

    def _give_up(self, buffer: bytes) -> None:
        """Let the real parser read on from the last whole event."""
        self._fast, self._buffer = None, b""
        self._parser_from = self._bytes - len(buffer)
        self._stream = self._parser(self._parser_from)
        for event in self._stream.feed(buffer):
            self.collected.add_event(event)

    def _parser(self, byte: int) -> EventStream:
        """A real parser among the events, from a byte of the document on."""
        return EventStream(self.collected.malformed, place=Place.EVENTS, bare=self._bare, byte=byte)


def _same(one: Collected, other: Collected) -> bool:
    """Whether two readings of the same bytes found the same."""
    same = sorted(_rows(one)) == sorted(_rows(other)) and one.categories == other.categories
    same = same and one.steps == other.steps and one.operators == other.operators
    return same and (one.launching, one.stepping) == (other.launching, other.stepping)


def _rows(collected: Collected) -> list[tuple[int, int, int, str, str, Track]]:
    names, rows = collected.names, collected.take_rows()
    columns = (rows.start_ns, rows.duration_ns, rows.launch, rows.kernel, rows.track)
    return [
        (start, duration, launch, names.kernels[one].category.value, names.kernels[one].name, track)
        for start, duration, launch, one, index in zip(*columns, strict=True)
        for track in [names.tracks[index]]
    ]
