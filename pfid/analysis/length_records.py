"""Records of a data set as one array: length, and source where it is known.

A record is one unsigned number, length in the upper bits and source in the lower ones. So it is
sorted, shuffled and reduced as one thing: the largest number of a micro-batch has its width, and
ten million records cost 80 MB an order.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pfid.analysis.length_sources import Sources

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
LENGTH_BITS: Final = 31
"""A length over two thousand million tokens is none."""
LENGTH_MAX: Final = (1 << LENGTH_BITS) - 1
RANDOM_BITS_MIN: Final = 16
"""Random bits beside a record below which a sort is no shuffle."""


class LengthError(ValueError):
    """A length or a source that cannot be one; ``record`` is its 1-based number."""

    def __init__(self, record: int, why: str) -> None:
        """Say which record, and why."""
        super().__init__(f"record {record}: {why}")
        self.record = record


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Records:
    """A data set's records in one order.

    Attributes:
        words: ``length << source_bits | source``.
        source_bits: width of the source's part; 0 where no sources are known.
        sources: names of the sources; ``source`` is an index of it.
    """

    words: Words
    source_bits: int = 0
    sources: tuple[str, ...] = ()

    @property
    def lengths(self) -> Ints:
        """Tokens of each record."""
        return (self.words >> np.uint64(self.source_bits)).astype(np.int64)

    def __len__(self) -> int:
        return len(self.words)


def records_of(
    lengths: Ints, sources: Sources | None = None, *, longest: int | None = None
) -> Records:
    """Put lengths and sources together.

    Args:
        lengths: tokens of each record, at least 1.
        sources: of the records, in their order.
        longest: truncate to so many tokens, as a trainer does; None for as they are.

    Raises:
        LengthError: for a length below 1 or beyond LENGTH_MAX.
        ValueError: without records, or if there is not one source a record.
    """
    if not len(lengths):
        raise ValueError("there is no record")
    wrong = np.flatnonzero((lengths < 1) | (lengths > LENGTH_MAX))
    if len(wrong):
        first = int(wrong[0])
        raise LengthError(first + 1, f"{int(lengths[first])} is no number of tokens")
    cut = lengths if longest is None else np.minimum(lengths, longest)
    if sources is None:
        return Records(words=cut.astype(np.uint64))
    if len(sources) != len(lengths):
        raise ValueError(f"there are {len(lengths)} lengths and {len(sources)} sources")
    bits = max(1, (len(sources.names) - 1).bit_length())
    words = cut.astype(np.uint64)
    words <<= np.uint64(bits)
    words |= sources.codes.astype(np.uint64)
    return Records(words=words, source_bits=bits, sources=sources.names)


def shuffled_rows(words: Words, row: int, rng: np.random.Generator) -> Words:
    """Shuffle inside each ``row`` neighbours; a last part that is no whole row likewise.

    By sorting random numbers that carry the records: several times as fast as swapping, since
    memory is read in order. Two records of a row that draw the same number are in no random order;
    with the bits left beside a record that is one pair in millions.
    """
    used = int(words.max()).bit_length() if len(words) else 0
    whole = len(words) // row * row
    if 64 - used < RANDOM_BITS_MIN + int(row).bit_length():
        rows = rng.permuted(words[:whole].reshape(-1, row), axis=1).reshape(-1)
        return np.concatenate((rows, rng.permutation(words[whole:])))
    low = np.uint64((1 << used) - 1)
    drawn = np.asarray(rng.bit_generator.random_raw(len(words)), dtype=np.uint64)
    drawn &= ~low
    drawn |= words
    drawn[:whole].reshape(-1, row).sort(axis=1)
    drawn[whole:].sort()
    drawn &= low
    return drawn


def by_length(words: Words, source_bits: int, rng: np.random.Generator) -> Words:
    """Sort by length, records of one length in random order: else their sources would be sorted."""
    if not source_bits:
        return np.sort(words)
    used = int(words.max()).bit_length()
    spare = 64 - used
    if spare < RANDOM_BITS_MIN:
        mixed = rng.permutation(words)
        return mixed[np.argsort(mixed >> np.uint64(source_bits), kind="stable")]
    drawn = np.asarray(rng.bit_generator.random_raw(len(words)), dtype=np.uint64)
    drawn >>= np.uint64(64 - spare)
    source = np.uint64(source_bits)
    low = np.uint64((1 << source_bits) - 1)
    keys = ((words >> source) << np.uint64(source_bits + spare)) | (drawn << source) | (words & low)
    keys.sort()
    ordered: Words = ((keys >> np.uint64(source_bits + spare)) << source) | (keys & low)
    return ordered
