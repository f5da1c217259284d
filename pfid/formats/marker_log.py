"""Markers of one log, counted."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pfid.domain.log_facts import Marker, MarkerSeen
from pfid.formats.line_count import LineCount
from pfid.formats.line_text import without_ansi
from pfid.formats.markers import Sighting
from pfid.formats.untrusted import printable


class MarkerLog:
    """How often each marker was seen, and where first."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        """Start with none."""
        self._seen: dict[Marker, MarkerSeen] = {}

    @classmethod
    def of(cls, seen: Mapping[Marker, MarkerSeen]) -> "MarkerLog":
        """Go on from what was counted."""
        log = cls()
        log._seen.update(seen)
        return log

    def add(
        self, sighting: Sighting, text: bytes, line: int, at_s: float | None, step: int | None
    ) -> None:
        """Count one line."""
        seen = self._seen.get(sighting.marker)
        if not sighting.genuine:
            before = seen or MarkerSeen(count=0, first_line=line)
            self._seen[sighting.marker] = replace(before, quoted=before.quoted + 1)
        elif seen is None or not seen.count:
            self._seen[sighting.marker] = MarkerSeen(
                count=1,
                first_line=line,
                first_at_s=at_s,
                first_step=step,
                quoted=0 if seen is None else seen.quoted,
                line=printable(without_ansi(text).strip()),
                last_at_s=at_s,
            )
        else:
            self._seen[sighting.marker] = replace(seen, count=seen.count + 1, last_at_s=at_s)

    def count(self, marker: Marker, times: int, lines: LineCount, step: int) -> None:
        """Count what a step line itself says."""
        seen = self._seen.get(marker)
        before = seen or MarkerSeen(count=0, first_line=lines.number(), first_step=step)
        self._seen[marker] = replace(before, count=before.count + times)

    def seen(self) -> dict[Marker, MarkerSeen]:
        """Return a copy."""
        return dict(self._seen)

    def state(self) -> list[Any]:
        """Return plain data."""
        return [
            [
                m.value,
                s.count,
                s.first_line,
                s.first_at_s,
                s.first_step,
                s.quoted,
                s.line,
                s.last_at_s,
            ]
            for m, s in self._seen.items()
        ]

    @classmethod
    def restore(cls, state: list[Any]) -> "MarkerLog":
        """Go on from plain data."""
        log = cls()
        for marker, count, line_number, at_s, step, quoted, line, last_at_s in state:
            log._seen[Marker(marker)] = MarkerSeen(
                count=count,
                first_line=line_number,
                first_at_s=at_s,
                first_step=step,
                quoted=quoted,
                line=line,
                last_at_s=last_at_s,
            )
        return log
