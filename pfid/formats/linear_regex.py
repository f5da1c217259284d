"""Regular expressions whose time is linear in the text, whatever the pattern (google-re2).

The one place that imports re2. A pattern from configuration with nested repeats stalled every
thread of a process for seconds under ``re``; and one automaton over many literals reads a log
about four times as fast as ``re`` does.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

import re2

MAX_MEMORY_BYTES: Final = 8 << 20
SET_MEMORY_BYTES: Final = 32 << 20
SPANS_MEMORY_BYTES: Final = 64 << 20
"""Taken as it is needed: an automaton that does not find room begins again and again."""
NEVER: Final = r"[^\x{0}-\x{10FFFF}]"
"""Finds nothing."""


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


class PatternSet:
    """Many patterns that look at a text together, in one pass."""

    def __init__(self, together: Any) -> None:
        """Take the library's own set, compiled."""
        self._together = together

    def matching(self, text: bytes) -> Sequence[int]:
        """Numbers of the patterns that find something."""
        found: Sequence[int] | None = self._together.Match(text)
        return found or ()


class PatternError(ValueError):
    """A pattern that re2 cannot take (look-around and back-references are not regular)."""


def compile_bytes(pattern: bytes, said: str | None = None) -> Pattern:
    """Compile a pattern over single bytes.

    Args:
        pattern: to be compiled.
        said: as somebody wrote it, where that is something else: what an error shows.

    Raises:
        PatternError: if it is not a regular expression re2 knows.
    """
    return _compile(
        pattern if said is None else said, pattern, _options(re2.Options.Encoding.LATIN1)
    )


def compile_utf8(pattern: str) -> Pattern:
    """Compile a pattern over bytes that are good UTF-8; its classes of words and blanks are ASCII.

    Raises:
        PatternError: if it is not a regular expression re2 knows.
    """
    return _compile(pattern, pattern.encode(), _options(re2.Options.Encoding.UTF8))


def compile_utf8_spans(pattern: str) -> Pattern:
    """The same for who asks only where a match is: no group is told, which is thrice as fast.

    Raises:
        PatternError: if it is not a regular expression re2 knows.
    """
    options = _options(re2.Options.Encoding.UTF8)
    options.never_capture = True
    options.max_mem = SPANS_MEMORY_BYTES
    return _compile(pattern, pattern.encode(), options)


def compile_utf8_set(patterns: Sequence[str]) -> PatternSet:
    """Compile patterns as :func:`compile_utf8` does, to be looked for all at once.

    Raises:
        PatternError: for the first that is not a regular expression re2 knows.
    """
    options = _options(re2.Options.Encoding.UTF8)
    options.max_mem = SET_MEMORY_BYTES
    together: Any = re2.Set.SearchSet(options)
    for pattern in patterns or (NEVER,):
        try:
            together.Add(pattern.encode())
        except re2.error as error:
            raise PatternError(f"{pattern!r}: {_reason(error)}") from error
    together.Compile()
    return PatternSet(together)


def _options(encoding: Any) -> Any:
    options = re2.Options()
    options.encoding = encoding
    options.log_errors = False
    options.max_mem = MAX_MEMORY_BYTES
    return options


def _compile(said: bytes | str, pattern: bytes, options: Any) -> Pattern:
    try:
        compiled: Any = re2.compile(pattern, options)
    except re2.error as error:
        raise PatternError(f"{said!r}: {_reason(error)}") from error
    found: Pattern = compiled
    return found


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args else error
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
