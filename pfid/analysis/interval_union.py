"""The time that intervals cover, counted once: exact, in whole nanoseconds.

With several streams the sum of kernels exceeds the time the device was busy; the union does not.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
CHUNK: Final = 1 << 12
"""Intervals kept together: what is added is merged with the chunks that it touches, not with all,
and takes memory for those alone."""
_SHORT_NS: Final = 1 << 32


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


class _Chunk:
    """Neighbours; in 32 bits behind the first begin where they lie within four seconds."""

    __slots__ = ("_base", "_ends", "_starts", "end", "length", "start")

    def __init__(self, starts: Ints, ends: Ints) -> None:
        self.start, self.end = int(starts[0]), int(ends[-1])
        self.length = int((ends - starts).sum())
        short = self.end - self.start < _SHORT_NS
        kind: Any = np.uint32 if short else np.int64
        self._base = self.start if short else 0
        self._starts = (starts - self._base).astype(kind)
        self._ends = (ends - self._base).astype(kind)

    def intervals(self) -> tuple[Ints, Ints]:
        """Begins and ends, in order."""
        starts, ends = self._starts.astype(np.int64), self._ends.astype(np.int64)
        return starts + self._base, ends + self._base

    def length_within(self, start: int, end: int) -> int:
        """Nanoseconds covered between two times."""
        if start <= self.start and self.end <= end:
            return self.length
        starts, ends = self.intervals()
        return int(np.maximum(np.minimum(ends, end) - np.maximum(starts, start), 0).sum())


class IntervalUnion:
    """Disjoint intervals, kept merged; memory follows the gaps, at 8 bytes each (16 if far apart).

    Added in about the order of time, each block touches the last chunk alone.
    """

    def __init__(self) -> None:
        """Cover nothing."""
        self._chunks: list[_Chunk] = []

    def add(self, starts: Ints, ends: Ints) -> None:
        """Cover more."""
        starts, ends = merged(starts, ends)
        old, self._chunks = self._chunks, []
        bounds = np.searchsorted(starts, [chunk.start for chunk in old[1:]])
        parts = zip(np.split(starts, bounds), np.split(ends, bounds), strict=True)
        for number, part in enumerate(parts):
            self._append(old[number] if old else None, *part)

    def blocks(self) -> Iterator[tuple[Ints, Ints]]:
        """Begins and ends of the disjoint intervals, in order, some at a time."""
        return (chunk.intervals() for chunk in self._chunks)

    @property
    def length(self) -> int:
        """Nanoseconds covered."""
        return sum(chunk.length for chunk in self._chunks)

    def length_within(self, start: int, end: int) -> int:
        """Nanoseconds covered between two times."""
        near = (chunk for chunk in self._chunks if chunk.end > start and chunk.start < end)
        return sum(chunk.length_within(start, end) for chunk in near)

    def gaps_within(self, start: int, end: int) -> Iterator[Ints]:
        """Lengths of what is not covered between two times, the edges among it, some at a time."""
        reached = start
        for starts, ends in self.blocks():
            begins, closes = np.clip(starts, start, end), np.clip(ends, start, end)
            found = begins - np.insert(closes[:-1], 0, reached)
            reached = int(closes[-1])
            yield found[found > 0]
        if reached < end:
            yield np.array([end - reached], dtype=np.int64)

    def _append(self, chunk: _Chunk | None, starts: Ints, ends: Ints) -> None:
        """Keep a chunk, and intervals that begin before the chunk behind it."""
        first = [int(starts[0])] if len(starts) else []
        begins = min(first + ([chunk.start] if chunk else []), default=0)
        touched = bool(self._chunks) and self._chunks[-1].end >= begins
        if chunk is not None and not first and not touched:
            self._chunks.append(chunk)
            return
        parts = [(starts, ends)]
        parts += [chunk.intervals()] if chunk else []
        parts += [self._chunks.pop().intervals()] if touched else []
        starts, ends = merged(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        for at in range(0, len(starts), CHUNK):
            self._chunks.append(_Chunk(starts[at : at + CHUNK], ends[at : at + CHUNK]))


def overlap(one: IntervalUnion, other: IntervalUnion) -> int:
    """Nanoseconds that both cover."""
    return one.length + other.length - union_of((one, other)).length


def union_of(unions: Iterable[IntervalUnion]) -> IntervalUnion:
    """Cover what any of them covers."""
    whole = IntervalUnion()
    for union in unions:
        for starts, ends in union.blocks():
            whole.add(starts, ends)
    return whole
