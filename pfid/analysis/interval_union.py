"""The time that intervals cover, counted once: exact, in whole nanoseconds.

With several streams the sum of kernels exceeds the time the device was busy; the union does not.
"""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def merged(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return the disjoint intervals, in order, that cover the same points."""
    if len(starts) == 0:
        return starts, ends
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    begins = np.empty(len(starts), dtype=bool)
    begins[0] = True
    np.greater(starts[1:], ends[:-1], out=begins[1:])
    return starts[begins], ends[np.append(begins[1:], True)]


class IntervalUnion:
    """Disjoint intervals, kept merged; memory follows the number of gaps."""

    def __init__(self) -> None:
        """Cover nothing."""
        self.starts: Ints = np.empty(0, dtype=np.int64)
        self.ends: Ints = np.empty(0, dtype=np.int64)

    def add(self, starts: Ints, ends: Ints) -> None:
        """Cover more."""
        self.starts, self.ends = merged(
            np.concatenate((self.starts, starts)), np.concatenate((self.ends, ends))
        )

    @property
    def length(self) -> int:
        """Nanoseconds covered."""
        return int((self.ends - self.starts).sum())

    def length_within(self, start: int, end: int) -> int:
        """Nanoseconds covered between two times."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        last = int(np.searchsorted(self.starts, end, side="left"))
        starts = np.maximum(self.starts[first:last], start)
        ends = np.minimum(self.ends[first:last], end)
        return int(np.maximum(ends - starts, 0).sum())


def overlap(one: IntervalUnion, other: IntervalUnion) -> int:
    """Nanoseconds that both cover."""
    both = IntervalUnion()
    both.add(one.starts, one.ends)
    both.add(other.starts, other.ends)
    return one.length + other.length - both.length
