"""Whether the seed of a sampler was taken: a test of its runs, with a stated level and power.

The hypothesis is that no seed was ever taken: then the outputs of an item are exchangeable, and
which of them were asked for under one seed is chance. Likeness of two outputs is the share of the
longer one that both begin with. For two seeds ``a`` and ``b`` the statistic of an item is the mean
likeness of its outputs within a seed (any seed that was asked again), less that between ``a`` and
``b``; its mean over all ways to hand out the labels is 0, and its variance over them is exact
(:func:`_design`). Summed over items, Bernstein's inequality bounds the chance of a sum as large,
whatever the outputs are. Seeds are *taken* where that bound is :data:`LEVEL` or less for every two
of them: a seed that was not taken passes with a chance of LEVEL at most, however many there are,
for every pair has to show it. Where items are not independent of one another, that does not hold.

Power: with three runs of each of two seeds, seven items tell whose outputs are the same within a
seed and not between the two; with three seeds and every fifth output changed by the stack, twenty
do, in each of sixty draws. Items whose outputs are all the same tell nothing and do not count.

They are *not taken* where nothing points to a seed's work (the sum is less than
:data:`POINTS_SDS` of its standard deviations) and either two seeds give the same text, word for
word, in :data:`SAME_SHARE` of ten or more items, or what a seed can have done is bounded below
:data:`REACH` of what repeats that are all the same would show. Anything between is not told, and
how many items would tell it is.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations, pairwise
from math import ceil, exp, inf, log, sqrt
from typing import Final

from pfid.analysis.result_rates import alike
from pfid.spec.ports.results import ResultRecord

LEVEL: Final = 0.001
POINTS_SDS: Final = 2.0
BOUND_SDS: Final = 3.09
"""Of a chance of LEVEL, one-sided."""
REACH: Final = 0.5
SAME_SHARE: Final = 0.75
ITEMS_MIN: Final = 10
"""Fewer may have the same answer under two seeds for other reasons."""
ITEMS_TRIED: Final = 200
"""Items with differing outputs that are tested: more make no chance smaller that matters."""
SEEDS_PAIRED: Final = 12
"""Of more seeds each is held against the next and the first only."""
Outputs = Mapping[int, Sequence[str]]
"""Of one item: by seed, in order of the repeats."""


class Seeds(Enum):
    """What the outputs say of the seeds."""

    TAKEN = "taken"
    NOT_TAKEN = "not_taken"
    UNTOLD = "untold"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedEffect:
    """What was found.

    Attributes:
        seeds: whether they were taken.
        items: that were answered under two seeds or more.
        telling: of those, the ones whose outputs are not all the same.
        chance: bound of the chance with which seeds that were not taken give outputs that look
            as much as if they were; of the two seeds that show it least.
        same_share: how often two seeds give the same text, of the two that do so most.
        reach: what a seed can have done, as a share of what identical repeats would show.
        items_needed: items with differing outputs that would tell; None where no number is known.
    """

    seeds: Seeds
    items: int
    telling: int
    chance: float = 1.0
    same_share: float = 0.0
    reach: float = inf
    items_needed: int | None = None


@dataclass(frozen=True, slots=True)
class _Sum:
    """A statistic over items: how many, its sum, its variance, the most one item can add."""

    items: int = 0
    total: float = 0.0
    variance: float = 0.0
    most: float = 0.0
    apart: float = 0.0

    @property
    def chance(self) -> float:
        """Bernstein's bound of a sum as large."""
        if self.total <= 0:
            return 1.0
        return exp(-(self.total**2) / 2 / (self.variance + self.most * self.total / 3))

    @property
    def sds(self) -> float:
        return self.total / sqrt(self.variance) if self.variance > 0 else 0.0

    @property
    def reach(self) -> float:
        """Upper bound of the effect, in that of repeats which are all the same."""
        above = self.total + BOUND_SDS * sqrt(self.variance)
        return above / self.apart if self.apart > 0 else inf

    @property
    def needed(self) -> int | None:
        if self.total <= 0:
            return None
        mean, variance = self.total / self.items, self.variance / self.items
        return ceil(2 * log(1 / LEVEL) * (variance + self.most * mean / 3) / mean**2)


def outputs_by_seed(records: Iterable[ResultRecord]) -> list[Outputs]:
    """The outputs of each item, by seed and in order of the repeats."""
    items: dict[tuple[str, str], dict[int, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    for record in records:
        if record.seed is not None:
            outputs = items[record.family, record.item][record.seed]
            outputs[record.repeat] = record.reasoning + record.output
    return [
        {seed: [text for _, text in sorted(runs.items())] for seed, runs in sorted(held.items())}
        for held in items.values()
    ]


def seed_effect(items: Iterable[Outputs]) -> SeedEffect | None:
    """Test whether seeds were taken; None where no item was answered under two of them."""
    several = [item for item in items if len(item) > 1]
    if not several:
        return None
    telling = [
        item for item in several if len({text for runs in item.values() for text in runs}) > 1
    ]
    step = max(len(telling) // ITEMS_TRIED, 1)
    likened = [_Likened.of(item) for item in telling[::step][:ITEMS_TRIED]]
    pairs = list(_pairs(sorted({seed for item in several for seed in item})))
    tested = [(_sum(likened, pair), *_same(several, pair)) for pair in pairs]
    whole = _sum(likened, None)
    chance = max(test.chance for test, _, _ in tested)
    alikes = [
        share
        for test, share, n in tested
        if n >= ITEMS_MIN and test.chance > LEVEL and test.sds < POINTS_SDS
    ]
    nothing = whole.sds < POINTS_SDS and whole.reach < REACH
    weakest = max((test for test, _, _ in tested), key=lambda test: test.chance)
    if not telling or nothing or max(alikes, default=0.0) >= SAME_SHARE:
        seeds = Seeds.NOT_TAKEN
    else:
        seeds = Seeds.TAKEN if chance <= LEVEL else Seeds.UNTOLD
    return SeedEffect(
        seeds=seeds,
        items=len(several),
        telling=len(telling),
        chance=chance,
        same_share=max(share for _, share, _ in tested),
        reach=whole.reach,
        items_needed=weakest.needed,
    )


@dataclass(frozen=True, slots=True)
class _Likened:
    """An item: whose each run is, and how alike each two are."""

    seeds: Sequence[int]
    likeness: Mapping[tuple[int, int], float]
    moments: tuple[float, float, float]
    span: float

    @classmethod
    def of(cls, item: Outputs) -> "_Likened":
        seeds = [seed for seed, texts in item.items() for _ in texts]
        texts = [text for runs in item.values() for text in runs]
        likeness = {(a, b): alike(texts[a], texts[b])
                    for a, b in combinations(range(len(texts)), 2)}  # fmt: skip
        found = likeness.values()
        return cls(seeds, likeness, _moments(likeness, len(texts)), max(found) - min(found))


def _moments(likeness: Mapping[tuple[int, int], float], runs: int) -> tuple[float, float, float]:
    """Mean product of the likeness of two pairs: the same, with one run in common, with none."""
    at = [0.0] * runs
    for (a, b), value in likeness.items():
        at[a] += value
        at[b] += value
    squares = sum(value**2 for value in likeness.values())
    touching = sum(value**2 for value in at) - 2 * squares
    rest = sum(likeness.values()) ** 2 - squares - touching
    pairs = runs * (runs - 1) // 2
    touch, apart = pairs * 2 * (runs - 2), pairs * (runs - 2) * (runs - 3) // 2
    return squares / pairs, touching / touch if touch else 0.0, rest / apart if apart else 0.0


def _sum(likened: Sequence[_Likened], pair: tuple[int, int] | None) -> _Sum:
    """The statistic of two seeds, or of all, over the items that have it."""
    items, total, variance, most, apart = 0, 0.0, 0.0, 0.0, 0.0
    for item in likened:
        within = [at for at in item.likeness if item.seeds[at[0]] == item.seeds[at[1]]]
        between = list(_between(item, pair))
        if not within or not between:
            continue
        same = sum(item.likeness[at] for at in within) / len(within)
        other = sum(item.likeness[at] for at in between) / len(between)
        items += 1
        total += same - other
        apart += 1 - other
        variance += _variance(item, within, between)
        most = max(most, item.span)
    return _Sum(items, total, variance, most, apart)


def _between(item: _Likened, pair: tuple[int, int] | None) -> Iterator[tuple[int, int]]:
    for at in item.likeness:
        seeds = item.seeds[at[0]], item.seeds[at[1]]
        if seeds[0] != seeds[1] and (pair is None or pair in (seeds, seeds[::-1])):
            yield at


def _variance(
    item: _Likened, within: Sequence[tuple[int, int]], between: Sequence[tuple[int, int]]
) -> float:
    """Of the statistic over all ways to hand out the labels: exact, by what pairs share."""
    plus, minus = 1 / len(within), -1 / len(between)
    at = [0.0] * len(item.seeds)
    for share, pairs in ((plus, within), (minus, between)):
        for a, b in pairs:
            at[a] += share
            at[b] += share
    same = plus + -minus  # the sum of the squares of the shares
    touching = sum(value**2 for value in at) - 2 * same
    squares, touch, apart = item.moments
    return max(squares * same + touch * touching - apart * (same + touching), 0.0)


def _same(items: Sequence[Outputs], pair: tuple[int, int]) -> tuple[float, int]:
    """How often two seeds give the same text, and over how many items."""
    shares = [
        sum(a == b for a in item[pair[0]] for b in item[pair[1]])
        / (len(item[pair[0]]) * len(item[pair[1]]))
        for item in items
        if pair[0] in item and pair[1] in item
    ]
    return (sum(shares) / len(shares) if shares else 0.0), len(shares)


def _pairs(seeds: Sequence[int]) -> Iterator[tuple[int, int]]:
    if len(seeds) <= SEEDS_PAIRED:
        yield from combinations(seeds, 2)
        return
    yield from pairwise(seeds)
    yield from ((seeds[0], seed) for seed in seeds[2:])
