"""What was found for some suffixes, spread to all that it holds for."""

from itertools import pairwise

import numpy as np

from pfid.analysis.overlap.common_prefix import affordable, common_prefix
from pfid.analysis.overlap.suffix_order import Positions
from pfid.analysis.overlap.windows import Windows


def spread_over(held: Windows, longest: Positions, place: Positions) -> tuple[Positions, Positions]:
    """Bytes from each position of the texts on that stand in the stream, and where.

    Args:
        held: the texts.
        longest: by slot of ``held.order``, as far as it was found.
        place: in the stream.
    """
    size = held.ends.size
    far, where = np.zeros(size, np.int64), np.zeros(size, np.int64)
    far[held.order], where[held.order] = longest, place
    far, where = _forwards(far, where)
    _to_alike(held, far, where)
    return _forwards(far, where)


def _forwards(far: Positions, where: Positions) -> tuple[Positions, Positions]:
    """What stands from here on stands from the next byte on, one shorter."""
    here = np.arange(far.size)
    ends = np.maximum.accumulate(here + far) if far.size else far
    new = np.concatenate(([True], ends[1:] > ends[:-1]))[: far.size]
    source = np.maximum.accumulate(np.where(new, here, 0)) if far.size else here
    return np.maximum(ends - here, 0), where[source] + here - source


def _to_alike(held: Windows, far: Positions, where: Positions) -> None:
    """What stands of one suffix stands of every other, as far as the two agree."""
    slots = _slots_of_interest(held, far)
    if not slots.size:
        return
    at = held.order[slots]
    far[at] = np.minimum(far[at], held.ends[at] - at)
    agree = _agreement(held, slots, at, int(far[at].max()))
    told = [(int(f), int(w)) for f, w in zip(far[at], where[at], strict=True)]
    for step in (1, -1):
        _carry(told, agree, step)
    far[at], where[at] = np.array(told, np.int64).T


def _slots_of_interest(held: Windows, far: Positions) -> Positions:
    """Slots of groups of several of which something was found: one by itself has no alike."""
    if not held.order.size:
        return held.order
    sizes = np.diff(held.first)
    found = np.maximum.reduceat(far[held.order], held.first[:-1]) >= held.width
    return np.flatnonzero(np.repeat(found & (sizes > 1), sizes))


def _agreement(held: Windows, slots: Positions, at: Positions, cap: int) -> list[int]:
    """How far each slot agrees with the one after it; 0 where that is of another group."""
    near = np.flatnonzero(np.diff(slots) == 1)
    one, other = at[near], at[near + 1]
    cap = affordable(near.size, cap)
    agree = common_prefix(held.words, one, held.words, other, cap)
    agree = np.minimum(agree, np.minimum(held.ends[one] - one, held.ends[other] - other))
    full = np.zeros(at.size, np.int64)
    full[near] = np.where(agree >= held.width, agree, 0)
    return [int(number) for number in full]


def _carry(told: list[tuple[int, int]], agree: list[int], step: int) -> None:
    order = range(len(told)) if step > 0 else range(len(told) - 1, -1, -1)
    for before, here in pairwise(order):
        shared = min(told[before][0], agree[min(before, here)])
        if shared > told[here][0]:
            told[here] = (shared, told[before][1])
