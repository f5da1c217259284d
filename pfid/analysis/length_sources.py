"""Sources of a data set's records, interned: a name once, and a number a record."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sources:
    """One source a record.

    Attributes:
        names: each once, sorted.
        codes: index into ``names`` of each record.
    """

    names: tuple[str, ...]
    codes: Codes

    def __len__(self) -> int:
        """Count records."""
        return len(self.codes)


class _Numbers(dict[object, int]):
    """Numbers of names by what was read: 7 and ``"7"`` are one name."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}

    def __missing__(self, value: object) -> int:
        name = str(value)
        if not name:
            raise ValueError("an empty text names no source")
        number = self[value] = self.names.setdefault(name, len(self.names))
        return number


class SourceTally:
    """Takes names in portions."""

    def __init__(self) -> None:
        """Begin with none."""
        self._numbers = _Numbers()
        self._blocks: list[Codes] = []

    def coded(self, values: Sequence[str | int]) -> Codes:
        """Number names, one a record.

        Raises:
            ValueError: for an empty one.
        """
        codes = map(self._numbers.__getitem__, values)
        return np.fromiter(codes, dtype=np.int32, count=len(values))

    def add(self, codes: Codes) -> None:
        """Take the next records' numbers."""
        self._blocks.append(codes)

    def sources(self) -> Sources:
        """Put together what was taken."""
        names = tuple(self._numbers.names)
        empty = np.empty(0, dtype=np.int32)
        return sorted_sources(names, np.concatenate([empty, *self._blocks]))


def sources_of(names: Iterable[str]) -> Sources:
    """Intern names, one a record.

    Raises:
        ValueError: for an empty name.
    """
    tally = SourceTally()
    tally.add(tally.coded(tuple(names)))
    return tally.sources()


def sorted_sources(names: Sequence[str], codes: NDArray[np.signedinteger]) -> Sources:
    """Number sources by the order of their names, so that no figure depends on who came first.

    Args:
        names: distinct ones, in any order.
        codes: index into ``names`` of each record.
    """
    order = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), dtype=np.int32)
    rank[order] = np.arange(len(names), dtype=np.int32)
    return Sources(names=tuple(names[at] for at in order), codes=rank[codes])
