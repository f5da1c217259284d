"""Every stretch of a fixed width of some texts, to be looked up by what it holds."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pfid.analysis.overlap.suffix_order import WORD, Positions, suffix_order, words_at_every_byte

_ODD: Final = np.random.default_rng(20260824).integers(1 << 62, 1 << 63, 64, np.uint64) | np.uint64(
    1
)
SPARSE: Final = 32
"""Places of the first filter for each stretch it holds."""
BITS_MAX: Final = 27
SEPARATOR: Final = b"\xff"
"""Stands between texts: no byte of UTF-8, and the stream has none."""


def stretch_bytes(floor: int) -> int:
    """Width of the stretches by which every overlap of at least ``floor`` bytes is found.

    An overlap that long holds one whole stretch that begins at a multiple of eight of the stream.
    """
    return WORD * max((floor - WORD + 1) // WORD, 1)


def hashed(words: NDArray[np.uint64], at: Positions | slice, width: int) -> NDArray[np.uint64]:
    """A number of each stretch that begins at ``at``: multilinear in its words."""
    if isinstance(at, slice):
        count = max(words.size - width // WORD + 1, 0)
        total: NDArray[np.uint64] = words[:count] * _ODD[0]
        for k in range(1, width // WORD):
            total += words[k : k + count] * _ODD[k]
        return total
    total = words[at] * _ODD[0]
    for k in range(1, width // WORD):
        total += words[at + k * WORD] * _ODD[k]
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Stretches of texts; those that hold the same are one group.

    Attributes:
        width: bytes of a stretch.
        body: the texts, with separators and padding.
        words: eight bytes from each position of it.
        order: positions that a stretch begins at, in the order of what follows.
        ends: end of the text that each position lies in.
        hashes: of the groups, ascending.
        group: of each of those, its number in ``order``.
        entry: of each beginning of a number, where in ``hashes`` those with it begin.
        entry_shift: that leaves such a beginning.
        first: slot of ``order`` at which each group begins, and one more for the end.
        before: the group one byte before all of a group; -1 where that is not one and the same.
        sieve: whether any stretch's number begins with these bits.
        shift: that leaves them.
    """

    width: int
    body: NDArray[np.uint8]
    words: NDArray[np.uint64]
    order: Positions
    ends: Positions
    hashes: NDArray[np.uint64]
    group: Positions
    entry: NDArray[np.int32]
    entry_shift: np.uint64
    first: Positions
    before: Positions
    sieve: NDArray[np.bool_]
    shift: np.uint64

    def groups_of(self, numbers: NDArray[np.uint64]) -> Positions:
        """Group of each number; -1 where there is none."""
        if not self.hashes.size:
            return np.full(numbers.size, -1)
        at = self.entry[numbers >> self.entry_shift]
        early = np.flatnonzero(self.hashes[at] < numbers)
        while early.size:
            at[early] += 1
            early = early[at[early] < self.hashes.size]
            early = early[self.hashes[at[early]] < numbers[early]]
        at = np.minimum(at, self.hashes.size - 1)
        return np.where(self.hashes[at] == numbers, self.group[at], -1)


def windows_of(texts: list[bytes], width: int) -> Windows:
    """Index some texts."""
    joined = b"".join(text + SEPARATOR for text in texts)
    padded = joined + SEPARATOR * (width + WORD)
    words = words_at_every_byte(padded)
    ends = _ends(texts)
    longest = max(map(len, texts), default=0)
    order = suffix_order(joined, longest) if joined else np.zeros(0, np.int64)
    order = order[ends[order] - order >= width]
    numbers = hashed(words, order, width)
    begins = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))[: order.size]
    by_number = np.argsort(numbers[begins], kind="stable")
    hashes = numbers[begins][by_number]
    bits = min(max(int(begins.size * SPARSE).bit_length(), 10), BITS_MAX)
    entries, entry_shift = _entries(hashes)
    shift = np.uint64(64 - bits)
    sieve = np.zeros(1 << bits, np.bool_)
    sieve[numbers[begins] >> shift] = True
    return Windows(
        width=width,
        body=np.frombuffer(padded, np.uint8),
        words=words,
        order=order,
        ends=ends,
        hashes=hashes,
        group=by_number,
        entry=entries,
        entry_shift=entry_shift,
        first=np.concatenate((begins, [order.size])),
        before=_before(order, begins, len(joined)),
        sieve=sieve,
        shift=shift,
    )


def _ends(texts: list[bytes]) -> Positions:
    """The position behind the text that each byte belongs to; a separator ends where it is."""
    sizes = np.array([len(text) + 1 for text in texts], np.int64)
    return np.repeat(np.cumsum(sizes) - 1, sizes)


def _entries(hashes: NDArray[np.uint64]) -> tuple[NDArray[np.int32], np.uint64]:
    """A first step that leaves one or two numbers to look at, where halving took twenty."""
    bits = max(int(hashes.size).bit_length(), 1)
    shift = np.uint64(64 - bits)
    begins = np.arange(1 << bits, dtype=np.uint64) << shift
    at = np.searchsorted(hashes, begins)
    return np.minimum(at, max(hashes.size - 1, 0)).astype(np.int32), shift


def _before(order: Positions, begins: Positions, size: int) -> Positions:
    if not begins.size:
        return np.zeros(0, np.int64)
    of_position = np.full(size + 1, -1, np.int64)
    counts = np.diff(np.concatenate((begins, [order.size])))
    of_position[order] = np.repeat(np.arange(begins.size), counts)
    left = of_position[order - 1]
    lowest, highest = np.minimum.reduceat(left, begins), np.maximum.reduceat(left, begins)
    same: Positions = np.where(lowest == highest, lowest, -1)
    return same
