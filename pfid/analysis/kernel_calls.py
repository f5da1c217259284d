"""Calls of the runtime: which one launched a device row, by the correlation that both have."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
NOT_MADE: Final = -(2**63)
"""The time of a call that the trace does not hold."""
NESTED_NS: Final = 1_000_000
"""Calls under one correlation are as near where one of them was made by the other."""


class Calls:
    """When calls of the runtime were made, by their correlation."""

    def __init__(self) -> None:
        """Know none."""
        self._waiting: list[tuple[Ints, Ints]] = []
        self._known = np.zeros(0, dtype=np.int64)
        self._made_ns = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        """Count what is sorted in by now."""
        return len(self._known)

    def add(self, correlations: Ints, made_ns: Ints) -> None:
        """Take some calls, and when each was made."""
        if len(correlations):
            self._waiting.append((correlations, made_ns))

    def made(self, launches: Ints) -> Ints:
        """Return when each was made, ``NOT_MADE`` where the trace does not tell."""
        self._sort_in()
        if not len(self._known):
            return np.full(len(launches), NOT_MADE, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._known, launches), len(self._known) - 1)
        found: Ints = np.where(self._known[at] == launches, self._made_ns[at], NOT_MADE)
        return found

    @property
    def shared(self) -> int:
        """Calls under a correlation that another one has too, made at quite another time."""
        self._sort_in()
        same = np.diff(self._known) == 0
        return int(np.count_nonzero(same & (np.abs(np.diff(self._made_ns)) > NESTED_NS)))

    def _sort_in(self) -> None:
        if self._waiting:
            known = np.concatenate([self._known, *(one for one, _ in self._waiting)])
            made = np.concatenate([self._made_ns, *(two for _, two in self._waiting)])
            self._waiting.clear()
            order = np.argsort(known, kind="stable")
            self._known, self._made_ns = known[order], made[order]
