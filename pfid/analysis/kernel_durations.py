"""Durations of one kernel: every distinct one with its count, so that p50 is one that happened.

Durations are whole nanoseconds and repeat, so their counts stay exact far beyond a million rows.
Where there are more distinct ones than fit, they are rounded down to ``KEPT_BITS`` leading bits:
an answer is then below the true one by less than ``VALUE_ERROR`` of it.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from pfid.analysis.percentiles import rank_of

Ints = NDArray[np.int64]
KEPT_BITS: Final = 11
VALUE_ERROR: Final = 2.0 ** (1 - KEPT_BITS)
"""Share by which a coarse answer may lie below the duration at that rank: under 0.1 %."""


class DurationCounts:
    """Counts durations, exactly until told to be coarse."""

    __slots__ = ("_counts", "_values", "coarse")

    def __init__(self) -> None:
        """Begin empty."""
        self._values: Ints = np.empty(0, dtype=np.int64)
        self._counts: Ints = np.empty(0, dtype=np.int64)
        self.coarse = False

    def __len__(self) -> int:
        """Count the distinct durations held."""
        return len(self._values)

    def add(self, durations_ns: Ints) -> None:
        """Take durations, 0 or above."""
        if self.coarse:
            durations_ns = rounded_down(durations_ns)
        values, counts = np.unique(durations_ns, return_counts=True)
        self._take(np.concatenate((self._values, values)), np.concatenate((self._counts, counts)))

    def coarsen(self) -> None:
        """Give up exactness for memory."""
        self.coarse = True
        self._take(rounded_down(self._values), self._counts)

    def percentile(self, percent: float) -> int:
        """Return the duration at the nearest rank.

        Raises:
            ValueError: when nothing was added.
        """
        ranks = np.cumsum(self._counts)
        rank = rank_of(int(ranks[-1]) if len(ranks) else 0, percent)
        return int(self._values[int(np.searchsorted(ranks, rank))])

    def _take(self, values: Ints, counts: Ints) -> None:
        self._values, inverse = np.unique(values, return_inverse=True)
        sums = np.zeros(len(self._values), dtype=np.int64)
        np.add.at(sums, inverse, counts)
        self._counts = sums


def rounded_down(values: Ints) -> Ints:
    """Keep the leading bits of each value."""
    exponents = np.frexp(values.astype(np.float64))[1]
    shifts = np.maximum(exponents - KEPT_BITS, 0).astype(np.int64)
    kept: Ints = (values >> shifts) << shifts
    return kept
