"""What one card does in a window: its kinds of work, and what they were told by."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pfid.analysis.gpu_window import GpuWindow
from pfid.domain.gpu_view import WorkKind


class Work(Enum):
    """What one card does in a window; the value is the reason code of a verdict."""

    MATMUL = "matmul_bound"
    NO_CLEAR_FAULT = "no_clear_fault"
    TENSOR_IDLE = "sm_busy_tensor_idle"
    TENSOR_UNKNOWN = "tensor_activity_unknown"
    POWER_UNCLEAR = "tensor_idle_power_unclear"
    """No matrix work, at a power between low and high: one source alone convicts nobody."""
    LOW_POWER = "busy_at_low_power"
    IDLE = "idle"
    THROTTLED = "throttled"
    DISAGREE = "sensors_disagree"
    NO_COMPARISON = "no_comparison"
    """Neither a reference nor a limit: a power in watts says nothing."""
    TOO_SHORT = "window_too_short"
    UNREADABLE = "field_unreadable"
    NOT_MEASURED = "not_measured_here"
    """The hardware does not tell utilisation or power; that does not change."""


KINDS: Final[Mapping[Work, WorkKind]] = {
    Work.MATMUL: WorkKind.MATMUL,
    Work.NO_CLEAR_FAULT: WorkKind.LIGHT,
    Work.TENSOR_IDLE: WorkKind.NOT_MATMUL,
    Work.LOW_POWER: WorkKind.LOW_POWER,
    Work.IDLE: WorkKind.IDLE,
    Work.THROTTLED: WorkKind.THROTTLED,
}
"""In one word for a table; whatever is not here is not known."""


class Against(Enum):
    """What power was held against, as a sentence says it."""

    REFERENCE = "its own dense GEMM"
    LIMIT = "its enforced limit, as nobody measured its own GEMM"
    LOWERED_LIMIT = "its enforced limit, which was lowered since its GEMM was measured"
    BELOW_DEFAULT = "its enforced limit, which somebody set below the card's default"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReading:
    """The answer for one card.

    Attributes:
        work: what it does.
        window: what was summed up.
        against: what power was held against, None if against nothing.
        power_share: power over that, None likewise.
        flops_share: achieved over reference FLOP/s, None if either is not known.
        reported: whether the run reports what it achieves.
        fields: names of figures that are missing, where that decided.
        why: the driver's reasons, or which two sources contradict each other.
    """

    work: Work
    window: GpuWindow
    against: Against | None = None
    power_share: float | None = None
    flops_share: float | None = None
    reported: bool = False
    fields: tuple[str, ...] = ()
    why: str = ""

    @property
    def kind(self) -> WorkKind:
        """In one word."""
        return KINDS.get(self.work, WorkKind.UNKNOWN)
