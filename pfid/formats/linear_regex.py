"""Regular expressions whose time is linear in the text, whatever the pattern (google-re2).

The one place that imports re2. A pattern from configuration with nested repeats stalled every
thread of a process for seconds under ``re``; and one automaton over many literals reads a log
about four times as fast as ``re`` does.
"""

from collections.abc import Iterator
from typing import Any, Final, Protocol

import re2

MAX_MEMORY_BYTES: Final = 8 << 20


class Match(Protocol):
    """The part of a match that pfid uses."""

    def start(self) -> int:
        """Offset of the first byte."""
        ...

    def span(self) -> tuple[int, int]:
        """Offsets of the first byte and behind the last."""
        ...

    def group(self, name: bytes, /) -> bytes | None:
        """Text of a named group; None if it took no part."""
        ...


class Pattern(Protocol):
    """The part of a pattern that pfid uses."""

    @property
    def groupindex(self) -> dict[bytes, int]:
        """Named groups."""
        ...

    def search(self, text: bytes, pos: int = ..., /) -> Match | None:
        """Find the first match from ``pos`` on."""
        ...

    def finditer(self, text: bytes, pos: int = ..., /) -> Iterator[Match]:
        """Find all matches from ``pos`` on."""
        ...

    def sub(self, new: bytes, text: bytes, /) -> bytes:
        r"""Replace every match; ``\\1`` in what replaces it stands for a group."""
        ...


class PatternError(ValueError):
    """A pattern that re2 cannot take (look-around and back-references are not regular)."""


def compile_bytes(pattern: bytes) -> Pattern:
    """Compile a pattern over single bytes.

    Raises:
        PatternError: if it is not a regular expression re2 knows.
    """
    return _compile(pattern, pattern, re2.Options.Encoding.LATIN1)


def compile_utf8(pattern: str) -> Pattern:
    """Compile a pattern over bytes that are good UTF-8; its classes of words and blanks are ASCII.

    Raises:
        PatternError: if it is not a regular expression re2 knows.
    """
    return _compile(pattern, pattern.encode(), re2.Options.Encoding.UTF8)


def _compile(said: bytes | str, pattern: bytes, encoding: Any) -> Pattern:
    options = re2.Options()
    options.encoding = encoding
    options.log_errors = False
    options.max_mem = MAX_MEMORY_BYTES
    try:
        compiled: Any = re2.compile(pattern, options)
    except re2.error as error:
        raise PatternError(f"{said!r}: {_reason(error)}") from error
    found: Pattern = compiled
    return found


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args else error
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
