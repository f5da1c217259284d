"""The loss head's share of a step: its forward, and what runs for it inside ``backward()``.

Source: playbook section 3.5. A window around the forward measures half the story at best: where the
loss is checkpointed it is computed again inside the backward pass. Its forward alone was 374 ms of
35.3 s, 1.1 %; with recompute and gradients about 3 %.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

BACKWARD_FACTOR: Final = 2.0
"""Recompute and gradients beside one forward, where they could not be measured (the playbook's 3x
in all)."""
CLOCK_SHARE: Final = 1e-6
"""Sums of times on one clock may be over by their rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTiming:
    """One step: seconds of the whole, and of what the loss did in it.

    Attributes:
        step_s: of the whole step.
        forward_s: of the loss in the forward pass.
        recompute_s: of the loss computed again in the backward pass.
        gradient_s: of its gradients; None where they cannot be told from the rest.
    """

    step_s: float
    forward_s: float
    recompute_s: float = 0.0
    gradient_s: float | None = None

    def __post_init__(self) -> None:
        """Refuse parts that cannot be.

        Raises:
            ValueError: if one is negative, or they are longer together than the step.
        """
        parts = (self.forward_s, self.recompute_s, self.gradient_s or 0.0)
        if min(parts) < 0 or sum(parts) > self.step_s * (1 + CLOCK_SHARE):
            said = ", ".join(f"{part:g}" for part in parts)
            raise ValueError(f"the loss took {said} s of a step of {self.step_s:g} s")


@dataclass(frozen=True, slots=True, kw_only=True)
class LossHead:
    """Medians over repetitions, and what they say.

    Attributes:
        step_s: as in LossTiming, the median of each.
        forward_s: likewise.
        recompute_s: likewise.
        gradient_s: likewise.
        n: repetitions.
    """

    step_s: float
    forward_s: float
    recompute_s: float
    gradient_s: float | None
    n: int

    @property
    def forward_share(self) -> float:
        """Share of the step in the forward window alone."""
        return self.forward_s / self.step_s

    @property
    def whole_s(self) -> float:
        """Forward, recompute and gradients; from the playbook's factor where not measured."""
        if self.gradient_s is None:
            behind = max(BACKWARD_FACTOR * self.forward_s, self.recompute_s)
            return self.forward_s + behind
        return self.forward_s + self.recompute_s + self.gradient_s

    @property
    def whole_share(self) -> float:
        """Share of the step with everything that runs for the loss."""
        return min(1.0, self.whole_s / self.step_s)

    @property
    def measured_whole(self) -> bool:
        """Whether the part inside ``backward()`` was measured, not bounded."""
        return self.gradient_s is not None

    @property
    def checkpointed(self) -> bool:
        """Whether it was seen to be computed again in the backward pass."""
        return self.recompute_s > 0


def loss_head_of(timings: Sequence[LossTiming]) -> LossHead | None:
    """Take the medians; None where nothing was timed."""
    if not timings:
        return None
    gradients = [t.gradient_s for t in timings if t.gradient_s is not None]
    return LossHead(
        step_s=median(t.step_s for t in timings),
        forward_s=median(t.forward_s for t in timings),
        recompute_s=median(t.recompute_s for t in timings),
        gradient_s=median(gradients) if len(gradients) == len(timings) else None,
        n=len(timings),
    )


def caveat(head: LossHead) -> str:
    """Say what the forward window does not show: to stand wherever its figure stands."""
    said = f"the forward window shows {head.forward_share:.1%} of the step and half the story"
    inside = "recompute and gradients run inside backward()"
    if head.measured_whole:
        return f"{said}: {inside}; measured there, the loss is {head.whole_share:.1%} in all"
    return f"{said}: {inside} and were not measured; at three times the forward, {_about(head)}"


def _about(head: LossHead) -> str:
    return f"about {head.whole_share:.1%} in all"
