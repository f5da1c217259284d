"""What an adapter makes of a tensor, element by element, and whether a merge made that of it.

Source of the arithmetic: PEFT's ``get_delta_weight`` of linear layers, embeddings and parameters
(stacked experts), and its DoRA. Elements whose change should lie far above what rounding can come
to decide; a merge in few bits swallows the rest.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from pfid.analysis.weight_sample import Array, by_part, numbers, rounded

DECISIVE: Final = 6.0
"""How often a change must be what rounding can come to, that its element decides."""
DECIDING_MIN: Final = 8
"""Elements without which nothing is decided."""
RIGHT_SHARE_MIN: Final = 0.9
"""Of the deciding elements, that must have come where they should."""
SPREAD_MAX: Final = 0.25
"""Between the quartiles of the ratios of what was made to what should have been, if one factor
explains them all."""
_ROUNDING: Final = {"BF16": 2.0**-8, "F16": 2.0**-11, "F32": 2.0**-22, "F64": 2.0**-22}
"""How far a number is rounded at most, as a share of it."""
_PRODUCTS: Final = {"BF16": 2.0**-8, "F16": 2.0**-10, "F32": 2.0**-10, "F64": 2.0**-10}
"""The same of products that are added up; tensor cores shorten float32 to eleven bits."""
_SMALLEST_HALF: Final = 2.0**-24
Runs = Sequence[tuple[int, int]]


class Amount(Enum):
    """How a tensor's change stands to what the adapter makes."""

    RIGHT = "right"
    SCALED = "scaled"
    OTHER = "other"
    UNTOLD = "untold"


@dataclass(frozen=True, slots=True)
class Judged:
    """One tensor; ``factor`` is how many times what should be was made, None if untold."""

    amount: Amount
    factor: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What an adapter adds to the sampled elements of a tensor.

    Attributes:
        added: to each.
        terms: absolute products that each was added up from, in sum: rounding takes a share of it.
    """

    added: Array
    terms: Array

    def times(self, factor: float) -> "Change":
        """So often."""
        return Change(self.added * factor, self.terms * abs(factor))


def low_rank(a: Array, b: Array, shape: Sequence[int], runs: Runs) -> Iterator[Change]:
    """Products of two factors at the sampled elements, once for each way they fit the shape.

    Args:
        a: rank x in; of stacked matrices those of all experts below each other.
        b: out x rank; of stacked matrices the experts of each rank beside each other.
        shape: of the tensor.
        runs: sampled elements, as (first, count).
    """
    if len(shape) not in (2, 3) or a.ndim != 2 or b.ndim != 2 or a.shape[0] != b.shape[1]:
        return
    experts = shape[0] if len(shape) == 3 else 1
    rank, odd = divmod(a.shape[0], experts)
    if odd or not rank:
        return
    into = a.reshape(experts, rank, a.shape[1])
    out = b.reshape(b.shape[0], rank, experts)
    if (b.shape[0], a.shape[1]) == tuple(shape[-2:]):
        yield _products(shape, runs, lambda e, i: out[i, :, e], lambda e, j: into[e][:, j])
    if (a.shape[1], b.shape[0]) == tuple(shape[-2:]):
        yield _products(shape, runs, lambda e, i: into[e][:, i], lambda e, j: out[j, :, e].T)


def _products(
    shape: Sequence[int],
    runs: Runs,
    row: Callable[[int, int], Array],
    columns: Callable[[int, slice], Array],
) -> Change:
    added, terms = [np.empty(0)], [np.empty(0)]
    for e, i, j in segments(shape, runs):
        one, many = row(e, i).astype(np.float64), columns(e, j).astype(np.float64)
        added.append(one @ many)
        terms.append(np.abs(one) @ np.abs(many))
    return Change(np.concatenate(added), np.concatenate(terms))


def segments(shape: Sequence[int], runs: Runs) -> Iterator[tuple[int, int, slice]]:
    """Runs cut at the ends of rows: matrix, row, columns."""
    rows, columns = shape[-2:]
    for first, count in runs:
        at = first
        while at < first + count:
            number, j = divmod(at, columns)
            width = min(columns - j, first + count - at)
            yield number // rows, number % rows, slice(j, j + width)
            at += width


def rows_of(shape: Sequence[int], runs: Runs) -> list[int]:
    """The row of each sampled element of a matrix."""
    cut = segments((1, *shape[-2:]), runs)
    return [i for _, i, j in cut for _ in range(j.stop - j.start)]


def amount_of(
    changes: Sequence[Change], before: tuple[str, bytes], after: tuple[str, bytes]
) -> Judged:
    """Hold a change against what it should be, in whichever way that fits best.

    Args:
        changes: what the adapter makes, once for each way to read its factors.
        before: data type and sampled bytes of the base.
        after: of what was merged.

    Raises:
        ValueError: for a data type that holds no floating-point numbers.
    """
    found = [_judged(change, before, after) for change in changes]
    order = list(Amount)
    return min(found, key=lambda one: order.index(one.amount), default=Judged(Amount.UNTOLD))


def _judged(change: Change, before: tuple[str, bytes], after: tuple[str, bytes]) -> Judged:
    base, made = (numbers(*one) for one in (before, after))
    if made.size != change.added.size:
        return Judged(Amount.UNTOLD)
    can_be = _rounding(change, made)
    deciding = np.abs(change.added) > DECISIVE * can_be
    if np.count_nonzero(deciding) < DECIDING_MIN:
        return Judged(Amount.UNTOLD)
    should = change.added[deciding]
    was = made.astype(np.float64)[deciding] - base.astype(np.float64)[deciding]
    low, middle, high = (float(q) for q in np.quantile(was / should, (0.25, 0.5, 0.75)))
    if np.mean(np.abs(was - should) <= can_be[deciding]) >= RIGHT_SHARE_MIN:
        return Judged(Amount.RIGHT, middle)
    one_factor = high - low <= SPREAD_MAX * max(1.0, abs(middle))
    return Judged(Amount.SCALED, middle) if one_factor else Judged(Amount.OTHER)


def _rounding(change: Change, made: Array) -> Array:
    """How far each element may lie beside the exact sum, by the precision it was made in."""
    kind = _made_in(made)
    share = _ROUNDING[kind]
    can_be = share * (np.abs(made) + np.abs(change.added)) + _PRODUCTS[kind] * change.terms
    return can_be + (_SMALLEST_HALF if kind == "F16" else 0.0)


def _made_in(values: Array) -> str:
    """The narrowest precision that holds all of these numbers, whatever they are stored in."""
    narrow = values.astype(np.float32)
    for kind in ("BF16", "F16"):
        if np.array_equal(numbers(kind, rounded(narrow, kind)), narrow, equal_nan=True):
            return kind
    return "F32"


def adds_anything(change: Change) -> bool:
    """Whether any sampled element shall be another."""
    return bool(np.any(change.added))


def idle_parts(change: Change, shape: Sequence[int], runs: Runs) -> frozenset[int]:
    """Of stacked matrices those to which an adapter adds nothing: no token reached them."""
    if len(shape) != 3:
        return frozenset()
    found = by_part(shape, runs)
    return frozenset(part for part, at in found.items() if not np.any(change.added[at]))
