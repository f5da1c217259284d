"""Hold the ways to form micro-batches beside each other: padding, fast path, memory, diversity.

Source: playbook section 3.2. The orders are the file's own, a shuffle (several, with spread) and
"bucket to pair, shuffle to mix" for a range of buckets, of which the tightest is a full sort.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from pfid.analysis.length_records import Records
from pfid.analysis.padding import (
    PaddingCost,
    bucketed,
    padding_cost,
    roots_per_window,
    shuffled,
    tight,
)

SEEDS_MAX: Final = 20
SEEDS_MIN: Final = 3
RECORDS_PER_SEED: Final = 5_000_000
"""Few shuffles of many records spread as little as many shuffles of few."""
PLAYBOOK_BUCKETS: Final = (1, 16, 256)
"""In micro-batches: 2, 32 and 512 records at a batch of 2."""
SWEEP_FACTOR: Final = 4


class Order(Enum):
    """How micro-batches are formed."""

    AS_IS = "as_is"
    SHUFFLED = "shuffled"
    BUCKETED = "bucketed"
    """Sorted by length, loosened inside buckets, finished micro-batches shuffled."""
    SORTED = "sorted"
    """Likewise with the tightest bucket, a micro-batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderCost:
    """What one order costs.

    Attributes:
        order: how.
        bucket: records a bucket; None where there is none.
        cost: the padding, the mean of the seeds for a shuffle.
        roots: distinct sources in an accumulation window, None where sources are not known or no
            window is whole.
        waste_spread: standard deviation of the waste over seeds; None for one order alone.
        seeds: how many were tried.
    """

    order: Order
    bucket: int | None
    cost: PaddingCost
    roots: float | None
    waste_spread: float | None = None
    seeds: int = 1


def order_cost(records: Records, batch: int, order: Order, *, seed: int = 0) -> OrderCost:
    """Cost one order, without its diversity."""
    batch = min(batch, len(records))
    if order is Order.AS_IS:
        return OrderCost(order=order, bucket=None, cost=padding_cost(records, batch), roots=None)
    if order is Order.SHUFFLED:
        return _shuffles(records, batch, 1, seed)
    return _bucketed(tight(records, batch, seed), batch, 1, batch, seed)


def compare(
    records: Records, batch: int, accumulation: int, *, buckets: Sequence[int], seed: int = 0
) -> Iterator[OrderCost]:
    """Cost every order, the tightest bucket first and the rest in the order given.

    Args:
        records: as they lie in the file.
        batch: records a micro-batch.
        accumulation: micro-batches an optimizer step.
        buckets: sizes in records, multiples of ``batch``.
        seed: of all that is random.
    """
    batch = min(batch, len(records))
    yield OrderCost(
        order=Order.AS_IS,
        bucket=None,
        cost=padding_cost(records, batch),
        roots=roots_per_window(records, batch, accumulation),
    )
    yield _shuffles(records, batch, accumulation, seed)
    ordered = tight(records, batch, seed)
    for bucket in buckets:
        yield _bucketed(ordered, batch, accumulation, bucket, seed)


def _bucketed(ordered: Records, batch: int, accumulation: int, bucket: int, seed: int) -> OrderCost:
    loose = ordered if bucket <= batch else bucketed(ordered, bucket, seed)
    return OrderCost(
        order=Order.SORTED if bucket <= batch else Order.BUCKETED,
        bucket=max(bucket, batch),
        cost=padding_cost(loose, batch),
        roots=roots_per_window(loose, batch, accumulation, mix_seed=seed),
    )


def bucket_sizes(count: int, batch: int, *, sweep: bool) -> tuple[int, ...]:
    """Buckets to try, in records: the playbook's three, or from a micro-batch to everything."""
    batch = min(batch, count)
    if not sweep:
        sizes = [batch * factor for factor in PLAYBOOK_BUCKETS]
    else:
        sizes = [batch]
        while sizes[-1] * SWEEP_FACTOR < count:
            sizes.append(sizes[-1] * SWEEP_FACTOR)
    return tuple(size for size in sizes if size == batch or size < count)


def seeds_for(count: int) -> int:
    """How many shuffles are tried."""
    return max(SEEDS_MIN, min(SEEDS_MAX, RECORDS_PER_SEED // count))


def _shuffles(records: Records, batch: int, accumulation: int, seed: int) -> OrderCost:
    count = seeds_for(len(records))
    costs, roots = [], []
    for number in range(count):
        order = shuffled(records, seed + number)
        costs.append(padding_cost(order, batch))
        if number < SEEDS_MIN:
            roots.append(roots_per_window(order, batch, accumulation))
    known = [r for r in roots if r is not None]
    return OrderCost(
        order=Order.SHUFFLED,
        bucket=None,
        cost=_mean(costs),
        roots=float(np.mean(known)) if known else None,
        waste_spread=float(np.std([c.waste for c in costs], ddof=1)),
        seeds=count,
    )


def _mean(costs: Sequence[PaddingCost]) -> PaddingCost:
    """Means of all but what is a maximum."""

    def mean(name: str) -> float:
        return float(np.mean([getattr(c, name) for c in costs]))

    return PaddingCost(
        waste=mean("waste"),
        zero_pad_share=mean("zero_pad_share"),
        worst_batches=round(mean("worst_batches")),
        batches=costs[0].batches,
        mean_width=mean("mean_width"),
        mean_square_width=mean("mean_square_width"),
        max_width=max(c.max_width for c in costs),
    )
