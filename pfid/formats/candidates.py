"""Finds the few lines of a log that may mean something, at the speed of one automaton.

All triggers of all dialects and markers form one re2 pattern. A match says where to look; its
first byte says who should. Lines are cut at LF and CR alike, and of a line that is longer than
``MAX_LINE_BYTES`` only the beginning counts, so memory and time per match are bounded.
"""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from pfid.formats import markers, phases
from pfid.formats.bar_rows import Row, rows_at
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
_NO_ROWS: Final[tuple[Row, ...]] = ()


Candidate = tuple[int, bytes, str, Reader | None, Sequence[Row]]
"""A line worth a look: its offset in the block, its text without the end, what it may be
(``step``, ``bar``, ``hf_dict``, ``marker``, ``phase``), and who reads it if it may be a step.
Or several lines: ``bars``, and no text but rows."""


_Choice = tuple[int, re.Pattern[bytes] | None, str, Reader | None]
"""A target as the inner loop wants it: its bit, the trigger that tells it from others with the
same first byte (None if there are none), its kind and its reader."""


@dataclass(frozen=True, slots=True, eq=False)
class _Target:
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
        self._by_first_byte = _dispatch(targets)
        self._regexes = tuple(
            RegexDialect(name, pattern) for name, pattern in regex_dialects.items()
        )

    def candidates(self, body: bytes) -> Iterable[Candidate]:
        """Return candidates in the order of their lines, each line once per reader."""
        if not self._regexes:
            return self._found(body)
        found = list(self._found(body))
        for dialect in self._regexes:
            found += _configured(body, dialect)
        found.sort(key=itemgetter(0))
        return found

    def _found(self, body: bytes) -> Iterator[Candidate]:
        begin: int | None = 0
        while begin is not None:
            begin = yield from self._collect(body, begin)

    def _collect(self, body: bytes, begin: int) -> Generator[Candidate, None, int | None]:
        """Yield up to a line that is too long or a run of bars; return where the next begins."""
        end = -1
        start = seen = 0
        text = b""
        by_first_byte, whole_lines = self._by_first_byte, not self._regexes
        for match in self._everything.finditer(body, begin):
            at = match.start()
            if at >= end:
                start, end = line_around(body, at)
                if start < 0:
                    return end
                text, seen = body[start:end], 0
            for bit, trigger, kind, reader in by_first_byte[body[at]]:
                if trigger is not None and trigger.match(body, at) is None:
                    continue
                if seen & bit:
                    break
                seen |= bit
                rows = (
                    rows_at(body, start, self._everything)
                    if kind == "bar" and whole_lines
                    else None
                )
                if not rows:
                    yield start, text, kind, reader, _NO_ROWS
                    break
                yield start, b"", "bars", None, rows
                if len(rows) > 1:
                    return rows[-1].end()
                break
        return None


def _dispatch(targets: tuple[_Target, ...]) -> dict[int, tuple[_Choice, ...]]:
    """Who should look, by the first byte of a match; where that does not say it, by the trigger."""
    sharing: dict[int, dict[_Choice, int]] = {}
    for number, target in enumerate(targets):
        for trigger in target.triggers:
            choice = (1 << number, re.compile(trigger), target.kind, target.reader)
            sharing.setdefault(_first_byte(trigger), {})[choice] = number
    return {
        byte: tuple(choices) if len(set(choices.values())) > 1 else _only(choices)
        for byte, choices in sharing.items()
    }


def _only(choices: Iterable[_Choice]) -> tuple[_Choice, ...]:
    bit, _trigger, kind, reader = next(iter(choices))
    return ((bit, None, kind, reader),)


def _targets(presets: Mapping[str, Mapping[str, str]]) -> tuple[_Target, ...]:
    json = json_lines.JsonLines(presets)
    return (
        _Target("bar", bar.TRIGGERS),
        _Target("hf_dict", hf_dict.TRIGGERS),
        _Target("step", torchtitan.TRIGGERS, torchtitan.read),
        _Target("step", megatron.TRIGGERS, megatron.read),
        _Target("step", deepspeed.TRIGGERS, deepspeed.read),
        _Target("step", nanogpt.TRIGGERS, nanogpt.read),
        _Target("step", composer.TRIGGERS, composer.read),
        _Target("step", json.triggers, json.read),
        _Target("marker", markers.TRIGGERS),
        _Target("phase", phases.TRIGGERS),
    )


def _first_byte(trigger: bytes) -> int:
    return trigger[1] if trigger[:1] == b"\\" else trigger[0]


def line_around(body: bytes, at: int) -> tuple[int, int]:
    """Return begin and end of the line at ``at``; (-1, begin of the next) if it is too long."""
    low = at - MAX_LINE_BYTES if at > MAX_LINE_BYTES else 0
    begin = body.rfind(b"\n", low, at) + 1
    begin = body.rfind(b"\r", begin or low, at) + 1 or begin
    if not begin and low:
        return -1, _next_line(body, at)
    end = body.find(b"\n", at, begin + MAX_LINE_BYTES)
    if end < 0:
        end = min(begin + MAX_LINE_BYTES, len(body))
    turn = body.find(b"\r", at, end)
    return begin, end if turn < 0 else turn


def _next_line(body: bytes, at: int) -> int:
    feed = body.find(b"\n", at)
    feed = len(body) if feed < 0 else feed
    turn = body.find(b"\r", at, feed)
    return feed if turn < 0 else turn


def _configured(body: bytes, dialect: RegexDialect) -> Iterator[Candidate]:
    """Find the lines of a pattern from configuration."""
    lines = dialect.lines(body)
    at: int | None = 0
    while at is not None and (hit := dialect.find(lines, at)) is not None:
        begin, end = line_around(body, hit)
        if begin >= 0:
            yield begin, body[begin:end], "step", dialect.read, _NO_ROWS
            end = _next_line(body, end)
        at = end + 1 if end < len(body) else None
