"""What a trace holds that cannot be read: which record, where it begins, and why."""

from dataclasses import dataclass
from json import JSONDecodeError
from typing import Final

from pfid.formats.trace.number_text import MAX_DURATION_NS, NumberText, number_to_ns

KEPT: Final = 5
"""So many are kept of each kind; all are counted."""
SHOWN_CHARS: Final = 60
ZEROED: Final = b"\0" * 16
"""No name holds so many: a stretch of the file that was never written reads as zeros, and where it
begins and ends within strings what is around it still is JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A record that is no JSON, or no object.

    Attributes:
        byte: of the document, where the record begins, counted from 0.
        why: what is wrong with it.
        begins: its first characters.
    """

    byte: int
    why: str
    begins: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A row whose times are none.

    Attributes:
        name: of its kernel, or of the step.
        why: which time, as written.
    """

    name: str
    why: str


class Malformed:
    """Counts, and keeps the first few."""

    def __init__(self) -> None:
        """Begin with none."""
        self.damaged = 0
        self.damage: list[Damage] = []
        self.rejected = 0
        self.rejects: list[Rejected] = []

    def add_damage(self, one: Damage) -> None:
        """Count a record."""
        self.damaged += 1
        if len(self.damage) < KEPT:
            self.damage.append(one)

    def reject(self, name: str, why: str) -> None:
        """Count a row."""
        self.rejected += 1
        if len(self.rejects) < KEPT:
            self.rejects.append(Rejected(name=name, why=why))


def why_no_times(start: object, duration: object) -> str:
    """Say which of a row's times is none, as parsed."""
    for key, value in (("ts", start), ("dur", duration)):
        if value is None:
            return f"it has no {key}"
        if number_to_ns(value) is None:
            return f"{key} is {shown(value)}, no time"
    if (number_to_ns(duration) or 0) < 0:
        return f"dur is {shown(duration)}, below 0"
    return f"dur is {shown(duration)} us, above {MAX_DURATION_NS / 3.6e12:.1f} h"


def why_no_json(error: Exception) -> str:
    """Say what a parser found."""
    if isinstance(error, JSONDecodeError):
        return f"no JSON: {error.msg}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else f"no JSON: {error}"


def shown(value: object) -> str:
    """Return a value as a message shows it."""
    text = str(value) if isinstance(value, NumberText) else repr(value)
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 3] + "..."
