"""Suffixes of a text in the order of their bytes, by doubling what is known of each."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

WORD: Final = 8
Positions = NDArray[np.int64]


def words_at_every_byte(body: bytes) -> NDArray[np.uint64]:
    """Eight bytes from each position, little-endian; the last seven positions have none."""
    return np.ndarray((max(len(body) - WORD + 1, 0),), "<u8", body, strides=(1,))


def suffix_order(body: bytes, longest: int) -> Positions:
    """Positions of a text in the order of what follows each.

    Args:
        body: the text, without the eight bytes that pad it.
        longest: so many bytes are compared; suffixes that agree in them stand in any order.
    """
    size = len(body)
    words = words_at_every_byte(body + b"\xff" * WORD)[:size].byteswap()
    order: Positions = np.argsort(words, kind="stable").astype(np.int64)
    rank = np.zeros(size + 1, np.int64)
    slots = np.arange(size, dtype=np.int64)
    slots = _rank(rank, order, slots, words[order])
    known = WORD
    while slots.size and known < longest:
        some = order[slots]
        key = (rank[some] << 32) | rank[np.minimum(some + known, size)]
        within = np.argsort(key, kind="stable")
        order[slots] = some[within]
        slots = _rank(rank, order, slots, key[within])
        known *= 2
    return order


def _rank(rank: Positions, order: Positions, slots: Positions, keys: NDArray[Any]) -> Positions:
    """Number the groups of equal keys by their first slot; returns slots of groups of several."""
    if not slots.size:
        return slots
    begins = np.concatenate(([True], keys[1:] != keys[:-1]))
    first = np.maximum.accumulate(np.where(begins, slots, 0))
    rank[order[slots]] = first + 1
    several = ~(begins & np.concatenate((begins[1:], [True])))
    return slots[several]
