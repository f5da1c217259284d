"""What an explicit padding mask costs: one shape with a mask and without, nothing else changed.

Source: playbook section 3.1 (35.244 s for 26,048 loss targets, 38.567 s for 19,640: 9.4 % slower
for a quarter less work). The fastest repetition of each counts, since noise only adds.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedShape:
    """One repetition: seconds, and loss targets where the step says them."""

    seconds: float
    targets: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddingPenalty:
    """One shape, without padding and with it.

    Attributes:
        full_s: fastest step without padding.
        padded_s: fastest step with it.
        full_targets: loss targets without padding, None where the step does not say.
        padded_targets: loss targets with it.
        spread: largest spread of repetitions of one kind, over its fastest.
    """

    full_s: float
    padded_s: float
    full_targets: int | None
    padded_targets: int | None
    spread: float

    @property
    def slower(self) -> float:
        """Share by which the padded step is slower; below 0 if it is faster."""
        return self.padded_s / self.full_s - 1

    @property
    def less_work(self) -> float | None:
        """Share of loss targets that the padded step has less; None where nobody counts."""
        if not self.full_targets or self.padded_targets is None:
            return None
        return 1 - self.padded_targets / self.full_targets

    @property
    def per_target(self) -> float | None:
        """How many times longer a loss target takes; None where nobody counts."""
        if not self.full_targets or not self.padded_targets:
            return None
        return (self.padded_s / self.padded_targets) / (self.full_s / self.full_targets)

    @property
    def seen(self) -> bool:
        """Whether the difference is larger than what repetitions differ by themselves."""
        return abs(self.slower) > self.spread


def penalty_of(full: Sequence[TimedShape], padded: Sequence[TimedShape]) -> PaddingPenalty | None:
    """Hold both beside each other; None where one was not timed."""
    if not full or not padded:
        return None
    return PaddingPenalty(
        full_s=min(one.seconds for one in full),
        padded_s=min(one.seconds for one in padded),
        full_targets=full[0].targets,
        padded_targets=padded[0].targets,
        spread=max(_spread(full), _spread(padded)),
    )


def _spread(timed: Sequence[TimedShape]) -> float:
    seconds = [one.seconds for one in timed]
    return max(seconds) / min(seconds) - 1
