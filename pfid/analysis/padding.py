"""What padding costs, by the order in which records are put into micro-batches.

Source: playbook section 3.2. padded = batch * max(length), so waste is a property of the pairing
alone. The last batch may be short; it is padded to its own longest record.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pfid.analysis.length_records import Records, Words, by_length, shuffled_rows

Ints = NDArray[np.int64]
NARROW_BATCH: Final = 16
"""Up to so many records a micro-batch is reduced column by column, which is faster by far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddingCost:
    """Padding of one order of records.

    Attributes:
        waste: padded positions over all positions, 0..1.
        zero_pad_share: share of micro-batches without any padding; they keep the causal fast path.
        worst_batches: micro-batches padded to the longest record of all.
        batches: micro-batches formed.
        mean_width: E[w] of the micro-batches' padded widths.
        mean_square_width: E[w^2] of them; not E[w]^2.
        max_width: the widest.
    """

    waste: float
    zero_pad_share: float
    worst_batches: int
    batches: int
    mean_width: float
    mean_square_width: float
    max_width: int

    @property
    def square_ratio(self) -> float:
        """E[w^2] over E[w]^2: how wrong a quadratic term would be at the mean width."""
        return self.mean_square_width / self.mean_width**2


def padding_cost(records: Records, batch: int) -> PaddingCost:
    """Cost of forming micro-batches of ``batch`` records in the order given.

    Raises:
        ValueError: for a batch below 1.
    """
    if batch < 1:
        raise ValueError(f"need a batch >= 1, not {batch}")
    widest, shortest = _extremes(records, batch)
    widths = widest.astype(np.float64)
    padded = _padded(widest, len(records), batch)
    real = int((records.words >> np.uint64(records.source_bits)).sum())
    longest = int(widest.max())
    return PaddingCost(
        waste=1.0 - real / padded,
        zero_pad_share=float(np.count_nonzero(widest == shortest) / len(widest)),
        worst_batches=int(np.count_nonzero(widest == longest)),
        batches=len(widest),
        mean_width=float(widths.mean()),
        mean_square_width=float(np.dot(widths, widths) / len(widths)),
        max_width=longest,
    )


def shuffled(records: Records, seed: int) -> Records:
    """Return a uniform shuffle."""
    words = shuffled_rows(records.words, len(records), np.random.default_rng(seed))
    return _like(records, words)


def tight(records: Records, batch: int, seed: int = 0) -> Records:
    """Return the tightest pairing there is: a full sort, ties at random.

    Where the last micro-batch is short, it holds the longest records or the shortest, whichever
    leaves fewer micro-batches at full width, and then less padding: so their number is the least
    that any order has.
    """
    rng = np.random.default_rng(seed)
    rising = by_length(records.words, records.source_bits, rng)
    if len(rising) % batch == 0:
        return _like(records, rising)
    falling = np.ascontiguousarray(rising[::-1])
    found = (_like(records, rising), _like(records, falling))
    return min(found, key=lambda r: _burden(r, batch))


def bucketed(ordered: Records, bucket: int, seed: int) -> Records:
    """Return a tight order loosened: shuffled inside buckets of ``bucket`` neighbours.

    A bucket of one micro-batch changes nothing; one bucket of everything is a plain shuffle (the
    playbook's sweep runs from 2 to 512 records at a batch of 2).
    """
    words = shuffled_rows(ordered.words, min(bucket, len(ordered)), np.random.default_rng(seed))
    return _like(ordered, words)


def roots_per_window(
    ordered: Records, batch: int, accumulation: int, *, mix_seed: int | None = None
) -> float | None:
    """Mean number of distinct sources in a window of ``accumulation`` micro-batches.

    Args:
        ordered: records in the order in which they are paired.
        batch: records a micro-batch.
        accumulation: micro-batches a window.
        mix_seed: shuffle the finished micro-batches first; None for as they come.

    Returns:
        None without sources, or when there is no whole window.
    """
    codes = _codes(ordered, batch)
    windows = -(-len(ordered) // batch) // accumulation
    if not ordered.source_bits or windows < 1:
        return None
    if mix_seed is not None:
        codes = codes[np.random.default_rng(mix_seed).permutation(len(codes))]
    inside = codes[: windows * accumulation].reshape(windows, accumulation * batch)
    inside = np.sort(inside, axis=1)
    changes = np.count_nonzero(inside[:, 1:] != inside[:, :-1])
    return 1.0 + float(changes) / windows


def _codes(ordered: Records, batch: int) -> NDArray[np.uint32]:
    """Source of each record, a row a micro-batch; a short one repeats its first, adding none."""
    low = np.uint64((1 << ordered.source_bits) - 1)
    codes = (ordered.words & low).astype(np.uint32)
    missing = -len(codes) % batch
    if missing:
        first = len(codes) // batch * batch
        codes = np.concatenate((codes, np.repeat(codes[first], missing)))
    return codes.reshape(-1, batch)


def _like(records: Records, words: Words) -> Records:
    return Records(words=words, source_bits=records.source_bits, sources=records.sources)


def _burden(records: Records, batch: int) -> tuple[int, int]:
    widest, _ = _extremes(records, batch)
    return int(np.count_nonzero(widest == widest.max())), _padded(widest, len(records), batch)


def _padded(widest: Ints, count: int, batch: int) -> int:
    """Positions of all micro-batches, the last one at its own size."""
    return (int(widest.sum()) - int(widest[-1])) * batch + int(widest[-1]) * (
        count - (len(widest) - 1) * batch
    )


def _extremes(records: Records, batch: int) -> tuple[Ints, Ints]:
    """Longest and shortest length of each micro-batch."""
    words, whole = records.words, len(records) // batch * batch
    rows = words[:whole].reshape(-1, batch)
    if batch <= NARROW_BATCH:
        most, least = rows[:, 0], rows[:, 0]
        for column in range(1, batch):
            most = np.maximum(most, rows[:, column])
            least = np.minimum(least, rows[:, column])
    else:
        most, least = rows.max(axis=1), rows.min(axis=1)
    if whole < len(words):
        most = np.append(most, words[whole:].max())
        least = np.append(least, words[whole:].min())
    shift = np.uint64(records.source_bits)
    return (most >> shift).astype(np.int64), (least >> shift).astype(np.int64)
