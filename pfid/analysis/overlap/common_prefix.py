"""How far two texts agree from many pairs of positions on, eight bytes at a time."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from pfid.analysis.overlap.suffix_order import WORD, Positions

FAR: Final = 512
WORK_MAX: Final = 1_000_000


def affordable(pairs: int, longest: int) -> int:
    """Bytes that so many pairs are compared: all there are, or fewer where that never ended.

    Text that repeats itself agrees with itself from everywhere, to its end: comparing all of it
    from each of its positions would take the square of its length.
    """
    return min(longest, max(FAR, WORK_MAX * WORD // max(pairs, 1)))


def common_prefix(
    one: NDArray[np.uint64],
    at: Positions,
    other: NDArray[np.uint64],
    other_at: Positions,
    cap: int,
) -> Positions:
    """Bytes in which each pair of positions agrees.

    Args:
        one: eight bytes from each position of a text, as ``words_at_every_byte``.
        at: positions in it.
        other: the same of the other text; both end in eight bytes that disagree.
        other_at: positions in that.
        cap: no further than so many bytes, and up to seven more.
    """
    agree = np.zeros(at.size, np.int64)
    alive = np.arange(at.size)
    while alive.size:
        far = agree[alive]
        differ = one[at[alive] + far] ^ other[other_at[alive] + far]
        same = differ == 0
        ended = differ[~same]
        agree[alive[~same]] += _equal_bytes(ended)
        alive = alive[same]
        agree[alive] += WORD
        alive = alive[agree[alive] < cap]
    return agree


def _equal_bytes(differ: NDArray[np.uint64]) -> Positions:
    """Bytes before the first that differs, of words that do."""
    lowest = differ & (~differ + np.uint64(1))
    bits = np.log2(lowest.astype(np.float64)).astype(np.int64)
    return bits >> 3
