"""A dialect from configuration: one re2 pattern with named groups.

Groups: ``step`` (needed), and one of ``seconds``, ``ms`` (of one step), ``elapsed`` (H:M:S or
seconds since the start), ``stamp`` (date and time); ``loss`` if there is one.
"""

from typing import Final

from pfid.domain.step import StepClock
from pfid.formats.line_text import without_ansi
from pfid.formats.linear_regex import Match, Pattern, PatternError, compile_bytes
from pfid.formats.numbers import duration_s, finite, real, stamp_s, whole
from pfid.formats.reading import Reading

GROUPS: Final = frozenset({"step", "seconds", "ms", "elapsed", "stamp", "loss"})


def _compiled(pattern: str) -> Pattern:
    """A pattern whose ``^`` and ``$`` are of lines; what re2 says of a wrong one is of it alone."""
    try:
        return compile_bytes(b"(?m)" + pattern.encode())
    except PatternError:
        compile_bytes(pattern.encode(), pattern)
        raise


class RegexDialect:
    """One pattern, compiled."""

    __slots__ = ("_finder", "_groups", "_name", "_pattern")

    def __init__(self, name: str, pattern: str) -> None:
        """Compile.

        Raises:
            PatternError: for a pattern re2 cannot take, or one without the group ``step``.
        """
        self._name = name
        self._pattern: Pattern = _compiled(pattern)
        # A literal line end in front lets re2 leap; ^ makes it look at every byte.
        anchored = pattern.startswith("^") and "|" not in pattern
        self._finder = compile_bytes(b"(?m)\n" + pattern[1:].encode()) if anchored else None
        # re2 names the groups of a pattern over bytes in bytes
        self._groups = frozenset(name.decode() for name in self._pattern.groupindex)
        if "step" not in self._groups or self._groups - GROUPS:
            others = ", ".join(sorted(GROUPS - {"step"}))
            raise PatternError(
                f"needs the named group step, and may have any of {others} beside it; "
                f"found {', '.join(sorted(self._groups)) or 'none'}"
            )

    def lines(self, body: bytes) -> bytes:
        """Return ``body`` as ``find`` wants it: every line ends in LF, and one goes before it."""
        return b"\n" + body.replace(b"\r", b"\n")

    def find(self, lines: bytes, at: int) -> int | None:
        """Return where in the body the first line from ``at`` on is that may match."""
        if self._finder is not None:
            found = self._finder.search(lines, at)
            return None if found is None else found.start()
        found = self._pattern.search(lines, at + 1)
        return None if found is None else found.start() - 1

    def read(self, raw: bytes) -> Reading | None:
        """Return the reading of a line; None if the pattern is not in it."""
        found = self._pattern.search(without_ansi(raw))
        index = None if found is None else whole(self._text(found, "step"))
        if found is None or index is None:
            return None
        clock, clock_s, printed_s = self._times(found)
        return Reading(
            dialect=self._name,
            key=f"regex/{self._name}",
            step=index,
            clock=clock,
            clock_s=clock_s,
            printed_s=printed_s,
            from_zero=clock is StepClock.COUNTER,
            interval=1 if printed_s is not None else None,
            loss=real(self._text(found, "loss")),
        )

    def _text(self, found: Match, group: str) -> bytes | None:
        return found.group(group.encode()) if group in self._groups else None

    def _times(self, found: Match) -> tuple[StepClock, float | None, float | None]:
        seconds, milliseconds = (
            finite(self._text(found, "seconds")),
            finite(self._text(found, "ms")),
        )
        if seconds is not None:
            return StepClock.PRINTED, None, seconds
        if milliseconds is not None:
            return StepClock.PRINTED, None, milliseconds / 1000
        elapsed, stamp = self._text(found, "elapsed"), self._text(found, "stamp")
        if elapsed is not None:
            passed = finite(elapsed)
            return StepClock.COUNTER, duration_s(elapsed) if passed is None else passed, None
        if stamp is not None:
            return StepClock.STAMPED, stamp_s(stamp), None
        return StepClock.ARRIVAL, None, None
