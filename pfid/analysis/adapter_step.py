"""What a step with adapters gets done: tokens a second with their spread, and where adapters sit.

Source: playbook section 3.11, check 4: ten repetitions or more, spread beside the figure, the
modules really hit, and whether the model is a hybrid, which decides what its tokens a second mean.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median
from typing import Final

REPEATS_MIN: Final = 10
RECURRENT: Final = frozenset({"linear_attention", "mamba", "conv", "hybrid", "hybrid_sliding"})
"""Layer types that need a fused kernel of their own to be fast."""


class Shape(Enum):
    """What kind of model it is."""

    DENSE = "dense"
    HYBRID = "hybrid"
    UNKNOWN = "unknown"
    """Its configuration lists no layer types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Tokens a second over repetitions.

    Attributes:
        tokens_per_s: median.
        lowest: of all repetitions.
        highest: of all repetitions.
        real_tokens_per_s: median of loss targets a second; None where the step does not count.
        n: repetitions.
    """

    tokens_per_s: float
    lowest: float
    highest: float
    real_tokens_per_s: float | None
    n: int

    @property
    def spread(self) -> float:
        """Highest less lowest, over the median."""
        return (self.highest - self.lowest) / self.tokens_per_s


def throughput_of(
    seconds: Sequence[float], tokens: int, targets: Sequence[int | None]
) -> Throughput | None:
    """Turn seconds of equal steps into tokens a second; None where nothing was timed."""
    if not seconds:
        return None
    rates = [tokens / one for one in seconds]
    counted = [n / s for n, s in zip(targets, seconds, strict=True) if n is not None]
    return Throughput(
        tokens_per_s=median(rates),
        lowest=min(rates),
        highest=max(rates),
        real_tokens_per_s=median(counted) if len(counted) == len(seconds) else None,
        n=len(rates),
    )


def shape_of(layer_types: Mapping[str, int] | None) -> Shape:
    """Tell a hybrid from a dense model by its layers."""
    if not layer_types:
        return Shape.UNKNOWN
    return Shape.HYBRID if set(layer_types) & RECURRENT else Shape.DENSE
