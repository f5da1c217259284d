"""A real JSON parser over a trace in chunks: one event at a time, never the whole document.

Takes Kineto's object and Chrome's bare array, bytes that are no UTF-8 (replaced), control
characters in strings (kept), records that cannot be parsed (skipped and counted) and a document
that ends in its middle (said).
"""

import codecs
import json
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, Final

from pfid.formats.trace.malformed import (
    SHOWN_CHARS,
    ZEROED,
    Damage,
    Malformed,
    shown,
    why_no_json,
)
from pfid.formats.trace.number_text import NumberText

MAX_VALUE_CHARS: Final = 4 << 20
"""A record longer than this without an end is damaged; python stacks in events stay far below."""
_SPACE: Final = re.compile(r"[\s,\ufeff]*")
_SEPARATING: Final = " \t\r\n,"
_COLON: Final = re.compile(r"\s*:\s*")
_RESYNC: Final = re.compile(r"\}\s*,\s*\{\s*\"")
_LIST_ENDS: Final = re.compile(r"\}\s*(?=\]\s*[,}])")
_NOTHING: Final = "\0\ufeff \t\r\n"
_ZEROED: Final = ZEROED.decode()
_DECODER: Final = json.JSONDecoder(strict=False, parse_float=NumberText)


class Place(Enum):
    """Where in the document the parser stands."""

    START = "start"
    DOCUMENT = "document"
    EVENTS = "events"
    END = "end"
    NOT_JSON = "not_json"


class EventStream:
    """Feeds on bytes, yields events, keeps what the document says beside them.

    Attributes:
        place: where in the document it stands.
        facts: members of the document beside the events.
        malformed: records that could not be parsed.
        events_seen: the list of events has begun.
        behind: characters behind the end of the document: another one, or what is none.
    """

    def __init__(
        self,
        malformed: Malformed,
        *,
        place: Place = Place.START,
        bare: bool = False,
        byte: int = 0,
    ) -> None:
        """Begin at ``place`` and ``byte``; ``bare`` if the events are the whole document."""
        self.place = place
        self.facts: dict[str, Any] = {}
        self.malformed = malformed
        self._bytes = byte
        self._bare = bare
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._at = 0
        self.events_seen = place is Place.EVENTS
        self.behind = 0
        self._last = False
        self._zeroed = False

    @property
    def bare(self) -> bool:
        """Whether the document is an array of events."""
        return self._bare

    def feed(self, chunk: bytes) -> Iterator[dict[str, Any]]:
        """Yield the events that are complete."""
        self._bytes += len(chunk)
        self._text = self._text[self._at :] + self._decode.decode(chunk)
        self._at = 0
        self._zeroed = _ZEROED in self._text
        yield from self._run()

    def finish(self) -> Iterator[dict[str, Any]]:
        """Yield what the last bytes still held."""
        self._last = True
        self._text = self._text[self._at :] + self._decode.decode(b"", final=True)
        self._at = 0
        yield from self._run()

    def remainder(self) -> bytes:
        """Return the bytes behind the last event, from what separates it from the next.

        To be asked right after a ``feed`` that yielded an event.
        """
        at = self._at
        while at and self._text[at - 1] in _SEPARATING:
            at -= 1
        return self._text[at:].encode() + self._decode.getstate()[0]

    @property
    def cut(self) -> bool:
        """Whether the document has not ended; true of every document until it has."""
        return self.place is not Place.END

    def _run(self) -> Iterator[dict[str, Any]]:
        moving = True
        while moving:
            if self.place is Place.EVENTS:
                event = self._event()
                moving = event is not None
                if event:
                    yield event
            else:
                moving = self._document()

    def _peek(self) -> str:
        """Return the next character that is neither space nor comma; empty at the end."""
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._text[self._at : self._at + 1]

    def _event(self) -> dict[str, Any] | None:
        """Return the next event, an empty one for what is not one, None if there is no more."""
        char = self._peek()
        if char == "]":
            self._at += 1
            self.place = Place.END if self._bare else Place.DOCUMENT
            return {}
        if not char:
            return None
        at = self._at
        try:
            value, self._at = _DECODER.raw_decode(self._text, at)
        except (ValueError, RecursionError) as error:
            return {} if self._skip_damage(error) else None
        if not isinstance(value, dict) and self._at == len(self._text) and not self._last:
            self._at = at  # a number may go on in the next chunk
            return None
        return self._whole(value, at)

    def _whole(self, value: Any, at: int) -> dict[str, Any]:
        """Return a record that was read, an empty one if it is not to be believed."""
        if not isinstance(value, dict):
            self._add_damage(at, f"it is {shown(value)}, no object", self._at)
        elif self._zeroed and _ZEROED in self._text[at : self._at]:
            self._add_damage(at, "a part of it was never written: it holds zeros", self._at)
        else:
            return value
        return {}

    def _add_damage(self, at: int, why: str, end: int | None = None) -> None:
        ahead = len(self._text[at:].encode()) + len(self._decode.getstate()[0])
        begins = self._text[at:end][:SHOWN_CHARS]
        self.malformed.add_damage(Damage(byte=self._bytes - ahead, why=why, begins=begins))

    def _skip_damage(self, error: Exception) -> bool:
        """Go on behind a record that cannot be parsed; False while it may still be completed."""
        following = _RESYNC.search(self._text, self._at + 1)
        long_enough = len(self._text) - self._at > MAX_VALUE_CHARS
        if not (long_enough or (self._last and (following or self._is_wrong(error)))):
            return False
        self._add_damage(self._at, why_no_json(error))
        if following:
            self._at = self._text.index("{", following.start())
        else:
            ends = _LIST_ENDS.search(self._text, self._at)
            self._at = ends.end() if ends else len(self._text)
        return True

    def _is_wrong(self, error: Exception) -> bool:
        """Whether the record that was read last is wrong, and not merely cut off."""
        if not isinstance(error, json.JSONDecodeError):
            return True
        cut = error.pos >= len(self._text.rstrip()) or error.msg.startswith("Unterminated")
        return not cut

    def _document(self) -> bool:
        char = self._peek()
        if self.place is Place.START and char:
            self._bare = char == "["
            starts = {"{": Place.DOCUMENT, "[": Place.EVENTS}
            self.place = starts.get(char, Place.NOT_JSON)
            self._at += 1
            self.events_seen = self._bare
            return True
        if self.place is not Place.DOCUMENT or not char:
            self._drop_rest()
            return False
        if char == "}":
            self._at += 1
            self.place = Place.END
            return True
        return self._member()

    def _drop_rest(self) -> None:
        if self.place is Place.END:
            self.behind += len(self._text[self._at :].strip(_NOTHING))
        if self.place in (Place.END, Place.NOT_JSON):
            self._text, self._at = "", 0

    def _member(self) -> bool:
        """Read ``"key": value``; False while it is not complete."""
        try:
            key, at = _DECODER.raw_decode(self._text, self._at)
            colon = _COLON.match(self._text, at)
            if colon is None or not isinstance(key, str):
                return self._give_up_if_long()
            at = colon.end()
            if key == "traceEvents" and self._text[at : at + 1] == "[":
                self._at, self.place, self.events_seen = at + 1, Place.EVENTS, True
                return True
            value, at = _DECODER.raw_decode(self._text, at)
        except (ValueError, RecursionError):
            return self._give_up_if_long()
        if at == len(self._text) and not self._last:
            return False  # a number may go on in the next chunk
        self.facts[key] = value
        self._at = at
        return True

    def _give_up_if_long(self) -> bool:
        if len(self._text) - self._at > MAX_VALUE_CHARS:
            self._add_damage(self._at, "a member of the document does not end")
            self.place = Place.NOT_JSON
            return True
        return False
