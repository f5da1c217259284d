"""How long the records are: nearest-rank percentiles, E[n], E[n^2] and their ratio.

Source: playbook section 1.2: E[n^2] is not E[n]^2; for two-humped lengths they differ twofold.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pfid.analysis.percentiles import rank_of

PERCENTS: Final = (1, 10, 25, 50, 75, 90, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthDistribution:
    """Of all records, each counted once.

    Attributes:
        n: records.
        shortest: tokens of the shortest.
        longest: tokens of the longest.
        percentiles: nearest rank, by percent.
        mean: E[n].
        mean_of_squares: E[n^2].
        at_longest: records as long as the longest; many where a maximum length cuts.
    """

    n: int
    shortest: int
    longest: int
    percentiles: dict[int, int]
    mean: float
    mean_of_squares: float
    at_longest: int

    @property
    def ratio(self) -> float:
        """E[n^2] over E[n]^2; 1 where all are of one length."""
        return self.mean_of_squares / self.mean**2


def distribution_of(lengths: NDArray[np.int64]) -> LengthDistribution:
    """Summarise; ``lengths`` holds at least one."""
    ranks = {percent: rank_of(len(lengths), percent) - 1 for percent in PERCENTS}
    ordered = np.partition(lengths, sorted({0, len(lengths) - 1, *ranks.values()}))
    floats = lengths.astype(np.float64)
    return LengthDistribution(
        n=len(lengths),
        shortest=int(ordered[0]),
        longest=int(ordered[-1]),
        percentiles={percent: int(ordered[rank]) for percent, rank in ranks.items()},
        mean=float(floats.mean()),
        mean_of_squares=float(np.dot(floats, floats) / len(floats)),
        at_longest=int(np.count_nonzero(lengths == ordered[-1])),
    )
