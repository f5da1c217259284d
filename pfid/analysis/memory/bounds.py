"""A size that is known between bounds."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bytes:
    """At least ``low``, at most ``high``."""

    low: float
    high: float

    def __add__(self, other: "Bytes") -> "Bytes":
        """Both at once."""
        return Bytes(self.low + other.low, self.high + other.high)

    def times(self, factor: float) -> "Bytes":
        """So often."""
        return Bytes(self.low * factor, self.high * factor)

    def shared(self, part: "Bytes") -> "Bytes":
        """A share of it that is itself known between bounds."""
        return Bytes(self.low * part.low, self.high * part.high)

    def less(self, other: "Bytes") -> "Bytes":
        """What is left when something of the other's size has gone, at least nothing."""
        return Bytes(max(0.0, self.low - other.high), max(0.0, self.high - other.low))

    def over(self, other: "Bytes") -> "Bytes":
        """Whichever is larger, bound by bound."""
        return Bytes(max(self.low, other.low), max(self.high, other.high))


NOTHING = Bytes(0, 0)


def exactly(size: float) -> Bytes:
    """A size without doubt."""
    return Bytes(size, size)


def total(sizes: Iterable[Bytes]) -> Bytes:
    """All at once."""
    found = NOTHING
    for size in sizes:
        found = found + size
    return found
