"""How far a tensor moved, by the numbers that were sampled of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pfid.analysis.weight_sample import Array, by_part, numbers, rounded

ROUNDING_SHARE_MAX: Final = 0.01
"""Numbers that may differ before a difference is more than rounding that fell otherwise."""
_STEP: Final = {"BF16": 2.0**-7, "F16": 2.0**-10, "F32": 2.0**-23, "F64": 2.0**-23}
"""The widest step of a precision, as a share of the number."""
_COARSEST: Final = ("BF16", "F16", "F32", "F64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One tensor that differs.

    Attributes:
        relative: root mean square of the difference as a share of the base's own.
        parts: of stacked matrices those of which a sampled number differs.
        faint: of them those that differ by rounding alone.
        rounding: whether no more than a few numbers differ and all of it is below a step of the
            coarser precision (a change too faint for it looks like this), or all went through a
            coarser one.
    """

    relative: float
    parts: frozenset[int]
    faint: frozenset[int]
    rounding: bool


def moved(
    base: tuple[str, bytes],
    other: tuple[str, bytes],
    shape: Sequence[int],
    runs: Sequence[tuple[int, int]],
) -> Moved:
    """Compare samples of the same elements, each as data type and bytes.

    Raises:
        ValueError: for a data type that holds no floating-point numbers.
    """
    coarse = min(base[0], other[0], key=_COARSEST.index)
    before, after = (_in(coarse, one) for one in (base, other))
    difference = after - before
    places = by_part(shape, runs)
    parts = frozenset(part for part, at in places.items() if np.any(difference[at]))
    return Moved(
        relative=_relative(before, difference),
        parts=parts,
        faint=frozenset(n for n in parts if _rounds(before[places[n]], after[places[n]], coarse)),
        rounding=_rounds(before, after, coarse),
    )


def _relative(before: Array, difference: Array) -> float:
    size = float(np.sqrt(np.mean(np.square(before)))) if before.size else 0.0
    gone = float(np.sqrt(np.mean(np.square(difference)))) if difference.size else 0.0
    return gone / size if size > 0 else float("inf") if gone else 0.0


def _rounds(before: Array, after: Array, coarse: str) -> bool:
    difference = after - before
    share = float(np.mean(difference != 0)) if difference.size else 0.0
    few = share <= ROUNDING_SHARE_MAX and _relative(before, difference) <= _STEP[coarse]
    return few or _went_through(before, after)


def _went_through(before: Array, after: Array) -> bool:
    """Whether the one is the other, once narrowed and widened again."""
    narrow = before.astype(np.float32)
    return any(
        np.array_equal(numbers(to, rounded(narrow, to)), after, equal_nan=True)
        for to in ("BF16", "F16")
    )


def _in(coarse: str, one: tuple[str, bytes]) -> Array:
    """Numbers as float64, rounded to the coarser of two precisions: a cast moves nothing."""
    values = numbers(*one)
    if one[0] != coarse and coarse in ("BF16", "F16"):
        values = numbers(coarse, rounded(values, coarse))
    return values.astype(np.float64)
