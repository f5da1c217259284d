"""What padding costs, by the order in which records are put into micro-batches.

Source: playbook section 3.2. padded = batch * max(length), so waste is a property of the pairing
alone. The last batch may be short; it is padded to its own longest record.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
SHUFFLE_SEEDS: Final = tuple(range(20))


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
    """

    waste: float
    zero_pad_share: float
    worst_batches: int
    batches: int
    mean_width: float
    mean_square_width: float


def padding_cost(lengths: Ints, batch: int) -> PaddingCost:
    """Cost of forming micro-batches of ``batch`` records in the order given.

    Raises:
        ValueError: without records, or for a batch below 1.
    """
    if len(lengths) == 0 or batch < 1:
        raise ValueError(f"need records and a batch >= 1, not {len(lengths)} records by {batch}")
    starts = np.arange(0, len(lengths), batch)
    widths = np.maximum.reduceat(lengths, starts)
    shortest = np.minimum.reduceat(lengths, starts)
    sizes = np.diff(np.append(starts, len(lengths)))
    padded = int(np.dot(widths, sizes))
    as_float = widths.astype(np.float64)
    return PaddingCost(
        waste=1.0 - float(lengths.sum()) / padded,
        zero_pad_share=float(np.mean(widths == shortest)),
        worst_batches=int(np.count_nonzero(widths == lengths.max())),
        batches=len(widths),
        mean_width=float(as_float.mean()),
        mean_square_width=float(np.dot(as_float, as_float) / len(as_float)),
    )


def full_sort(lengths: Ints) -> Ints:
    """Indices of the tightest pairing there is: by length, ties in file order."""
    return np.argsort(lengths, kind="stable")


def shuffled(count: int, seed: int) -> Ints:
    """Indices of a uniform shuffle."""
    return np.random.default_rng(seed).permutation(count)


def bucketed(lengths: Ints, bucket: int, seed: int) -> Ints:
    """Indices sorted by length, then shuffled inside buckets of ``bucket`` records.

    A bucket of one micro-batch is the tightest pairing, a full sort; one bucket of everything is
    a plain shuffle (the playbook's sweep runs from 2 to 512 records at a batch of 2).
    """
    order = full_sort(lengths)
    whole = len(order) // bucket * bucket
    rng = np.random.default_rng(seed)
    inside = rng.permuted(order[:whole].reshape(-1, bucket), axis=1).reshape(-1)
    return np.concatenate((inside, rng.permutation(order[whole:])))


def mixed(order: Ints, batch: int, seed: int) -> list[Ints]:
    """The micro-batches of an order, shuffled as wholes: pairing kept, neighbours scattered."""
    batches = [order[i : i + batch] for i in range(0, len(order), batch)]
    return [batches[i] for i in np.random.default_rng(seed).permutation(len(batches))]


def roots_per_window(
    batches: Sequence[Ints], sources: Sequence[object], accumulation: int
) -> float | None:
    """Mean number of distinct sources in a window of ``accumulation`` micro-batches.

    None when there is no whole window.
    """
    counts = [len({sources[i] for i in window}) for window in _windows(batches, accumulation)]
    return float(np.mean(counts)) if counts else None


def _windows(batches: Sequence[Ints], accumulation: int) -> Iterator[list[int]]:
    for start in range(0, len(batches) - accumulation + 1, accumulation):
        yield [int(i) for part in batches[start : start + accumulation] for i in part]
