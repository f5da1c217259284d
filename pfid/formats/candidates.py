"""Finds the few lines of a log that may mean something, at the speed of one automaton.

All triggers of all dialects and markers form one re2 pattern. A match says where to look; its
first byte says who should. Lines are cut at LF and CR alike, and of a line that is longer than
``MAX_LINE_BYTES`` only the beginning counts, so memory and time per match are bounded.
"""

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Final, NamedTuple

from pfid.formats import markers, phases
from pfid.formats.dialects import (
    bar,
    composer,
    deepspeed,
    hf_dict,
    json_lines,
    megatron,
    nanogpt,
    torchtitan,
)
from pfid.formats.dialects.regex_dialect import RegexDialect
from pfid.formats.linear_regex import compile_bytes
from pfid.formats.reading import Reading

Reader = Callable[[bytes], Reading | None]
MAX_LINE_BYTES: Final = 16 * 1024


class Candidate(NamedTuple):
    """A line worth a look, and who should look.

    Attributes:
        start: offset of the line in the block.
        text: the line, without its end, at most ``MAX_LINE_BYTES``.
        kind: ``step``, ``bar``, ``hf_dict``, ``marker`` or ``phase``.
        reader: for ``step``.
    """

    start: int
    text: bytes
    kind: str
    reader: Reader | None


class _Target(NamedTuple):
    kind: str
    triggers: tuple[bytes, ...]
    reader: Reader | None = None


class Scanner:
    """Compiled once per parser."""

    __slots__ = ("_by_first_byte", "_everything", "_regexes")

    def __init__(
        self,
        regex_dialects: Mapping[str, str],
        jsonl_keys: Mapping[str, Mapping[str, str]],
    ) -> None:
        """Compile all triggers.

        Raises:
            PatternError: for a pattern from configuration that cannot be used.
        """
        targets = _targets({**json_lines.PRESETS, **jsonl_keys})
        triggers = [trigger for target in targets for trigger in target.triggers]
        self._everything = compile_bytes(b"|".join(triggers))
        self._by_first_byte: dict[int, list[tuple[re.Pattern[bytes], _Target]]] = {}
        for target in targets:
            for trigger in target.triggers:
                entry = (re.compile(trigger), target)
                self._by_first_byte.setdefault(_first_byte(trigger), []).append(entry)
        self._regexes = tuple(
            RegexDialect(name, pattern) for name, pattern in regex_dialects.items()
        )

    def candidates(self, body: bytes) -> Iterator[Candidate]:
        """Yield candidates in the order of their lines, each line once per reader."""
        found = self._triggered(body)
        if not self._regexes:
            return found
        own = [each for dialect in self._regexes for each in _configured(body, dialect)]
        return iter(sorted([*found, *own], key=lambda candidate: candidate.start))

    def _triggered(self, body: bytes) -> Iterator[Candidate]:
        at: int | None = 0
        while at is not None:
            at = yield from self._until_over_long(body, at)

    def _until_over_long(self, body: bytes, begin: int) -> Generator[Candidate, None, int | None]:
        """Go on until a line is too long; return where the next one begins, None at the end."""
        start = end = -1
        seen: set[int] = set()
        for match in self._everything.finditer(body, begin):
            at = match.start()
            if at >= end:
                start, end = line_around(body, at)
                seen = set()
                if start < 0:
                    return end
            for pattern, target in self._by_first_byte[body[at]]:
                if id(target) in seen:
                    continue
                hit = pattern.match(body, at)
                if hit is not None and hit.end() <= end:
                    seen.add(id(target))
                    yield Candidate(start, body[start:end], target.kind, target.reader)
        return None


def _targets(presets: Mapping[str, Mapping[str, str]]) -> tuple[_Target, ...]:
    return (
        _Target("bar", bar.TRIGGERS),
        _Target("hf_dict", hf_dict.TRIGGERS),
        _Target("step", torchtitan.TRIGGERS, torchtitan.read),
        _Target("step", megatron.TRIGGERS, megatron.read),
        _Target("step", deepspeed.TRIGGERS, deepspeed.read),
        _Target("step", nanogpt.TRIGGERS, nanogpt.read),
        _Target("step", composer.TRIGGERS, composer.read),
        _Target("step", json_lines.triggers(presets), lambda text: json_lines.read(text, presets)),
        _Target("marker", markers.TRIGGERS),
        _Target("phase", phases.TRIGGERS),
    )


def _first_byte(trigger: bytes) -> int:
    return trigger[1] if trigger[:1] == b"\\" else trigger[0]


def line_around(body: bytes, at: int) -> tuple[int, int]:
    """Return begin and end of the line at ``at``; (-1, begin of the next) if it is too long."""
    low = max(at - MAX_LINE_BYTES, 0)
    feed = body.rfind(b"\n", low, at)
    begin = max(body.rfind(b"\r", max(feed, low), at), feed) + 1
    if not begin and low:
        return -1, _next_line(body, at)
    limit = min(begin + MAX_LINE_BYTES, len(body))
    end = body.find(b"\n", at, limit)
    end = limit if end < 0 else end
    turn = body.find(b"\r", at, end)
    return begin, end if turn < 0 else turn


def _next_line(body: bytes, at: int) -> int:
    feed = body.find(b"\n", at)
    feed = len(body) if feed < 0 else feed
    turn = body.find(b"\r", at, feed)
    return feed if turn < 0 else turn


def _configured(body: bytes, dialect: RegexDialect) -> Iterator[Candidate]:
    """Find the lines of a pattern from configuration."""
    lines = body.replace(b"\r", b"\n")  # so that ^ and $ mean a line here too
    at: int | None = 0
    while at is not None and (match := dialect.pattern.search(lines, at)) is not None:
        begin, end = line_around(body, match.start())
        if begin >= 0:
            yield Candidate(begin, body[begin:end], "step", dialect.read)
            end = _next_line(body, end)
        at = end + 1 if end < len(body) else None
