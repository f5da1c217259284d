"""What kind of busy: utilisation, power over this card's own GEMM, and tensor activity together.

The playbook's diagnosis was 100 % utilisation at 279-292 W, 27 TFLOP/s, on a card that does 304
TFLOP/s on a dense GEMM *at the same power*. So power alone convicts nobody, and a share of the
limit misleads: 285 W is 95 % of one card and 48 % of another. Power is held against what this very
card draws on its own dense GEMM, and against the enforced limit only where nobody measured that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from pfid.analysis.gpu_window import GpuWindow
from pfid.domain.gpu import AbsentReason
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.gpu_view import WorkKind
from pfid.spec.limits import limit

HELD_BACK: Final = ("hw_slowdown", "hw_thermal", "sw_thermal", "hw_power_brake")
"""Reasons by which a card is held back against everybody's will."""
POWER_CAP: Final = "sw_power_cap"
"""Ordinary at full load; it matters where somebody lowered the limit."""
DEAD: Final = 0.01
"""Activity below which nothing can have run."""
WINDOW_S: Final = 60.0
"""Seconds of a window (DESIGN section 10)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimits:
    """Limits of DESIGN section 10.

    Attributes:
        window_s: seconds of readings that are judged together.
        covered: share of the window that readings must cover.
        utilization_high: mean utilisation from which a card is busy.
        utilization_low: up to which it idles.
        power_high: share of the reference from which power is that of dense work.
        power_low: share up to which it is not; between the two nothing fails.
        tensor_high: tensor activity, or achieved over reference FLOP/s, of matrix multiplication.
        tensor_low: up to which the work is something else (the playbook's run: 27 of 304).
        full_power: share of the enforced limit at which something must be running.
        cap_lowered: share of the limit at the reference's time below which it was lowered.
    """

    window_s: float = limit(WINDOW_S, unit="s", factor=1.25)
    covered: float = limit(0.75, unit="ratio", factor=1.1)
    utilization_high: float = limit(0.9, unit="ratio", factor=1.05)
    utilization_low: float = limit(0.3, unit="ratio", factor=1.1)
    power_high: float = limit(0.75, unit="ratio", factor=1.05)
    power_low: float = limit(0.5, unit="ratio", factor=1.05)
    tensor_high: float = limit(0.25, unit="ratio", factor=1.1)
    tensor_low: float = limit(0.15, unit="ratio", factor=1.1)
    full_power: float = limit(0.9, unit="ratio", factor=1.05)
    cap_lowered: float = limit(0.95, unit="ratio", factor=1.02)


class Work(Enum):
    """What one card does in a window; the value is the reason code of a verdict."""

    MATMUL = "matmul_bound"
    NO_CLEAR_FAULT = "no_clear_fault"
    TENSOR_IDLE = "sm_busy_tensor_idle"
    TENSOR_UNKNOWN = "tensor_activity_unknown"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReading:
    """The answer for one card.

    Attributes:
        work: what it does.
        window: what was summed up.
        against: what power was held against, None if against nothing.
        power_share: power over that, None likewise.
        flops_share: achieved over reference FLOP/s, None if either is not known.
        fields: names of figures that are missing, where that decided.
        why: the driver's reasons, or which two sources contradict each other.
    """

    work: Work
    window: GpuWindow
    against: Against | None = None
    power_share: float | None = None
    flops_share: float | None = None
    fields: tuple[str, ...] = ()
    why: str = ""

    @property
    def kind(self) -> WorkKind:
        """In one word."""
        return KINDS.get(self.work, WorkKind.UNKNOWN)


class _Level(Enum):
    LOW = "low"
    BETWEEN = "between"
    HIGH = "high"
    UNKNOWN = "unknown"


def classify(
    window: GpuWindow,
    reference: GpuReference | None,
    limits: WorkLimits,
    achieved_flops_per_s: float | None = None,
) -> WorkReading:
    """Say what a card is busy with.

    A figure that is missing never makes it worse: what would have to be known is said instead.
    """
    missing = _missing(window, reference, limits)
    if missing is not None:
        return missing
    case = _Case(window, reference, limits, achieved_flops_per_s)
    contradiction = case.contradiction()
    if contradiction:
        return case.reading(Work.DISAGREE, contradiction)
    held = case.held_back()
    if held:
        return case.reading(Work.THROTTLED, held)
    work = case.work()
    fields = ("tensor_activity",) if work is Work.UNREADABLE else ()
    return replace(case.reading(work), fields=fields)


def _missing(
    window: GpuWindow, reference: GpuReference | None, limits: WorkLimits
) -> WorkReading | None:
    """The answer if something is missing that no judgement can do without."""
    needed = {"utilization": window.utilization, "power_w": window.power_w}
    fields = tuple(name for name, value in needed.items() if value is None)
    if fields:
        never = all(window.absent.get(f) is AbsentReason.NOT_SUPPORTED for f in fields)
        known = any(f in window.absent for f in fields)
        work = Work.NOT_MEASURED if never else Work.UNREADABLE if known else Work.TOO_SHORT
        return WorkReading(work=work, window=window, fields=fields)
    if window.seconds < limits.covered * limits.window_s:
        return WorkReading(work=Work.TOO_SHORT, window=window)
    if window.power_limit_w is not None:
        return None
    if reference is None:
        return WorkReading(work=Work.NO_COMPARISON, window=window, fields=("power_limit_w",))
    if reference.power_limit_w is None:
        return None
    # It had a limit when its GEMM was measured: whether that was lowered cannot be told now.
    return WorkReading(work=Work.UNREADABLE, window=window, fields=("power_limit_w",))


class _Case:
    """One card whose utilisation and power are known, and what they are held against."""

    def __init__(
        self,
        window: GpuWindow,
        reference: GpuReference | None,
        limits: WorkLimits,
        achieved_flops_per_s: float | None,
    ) -> None:
        self.window, self.limits, self.reference = window, limits, reference
        self.utilization = window.utilization or 0.0
        self.power_w = window.power_w or 0.0
        self.limit_w = window.power_limit_w
        self.lowered = _lowered(reference, self.limit_w, limits)
        self.against, self.base_w = _base(reference, self.limit_w, lowered=self.lowered)
        self.flops_share = (
            achieved_flops_per_s / (reference.tflops * 1e12)
            if achieved_flops_per_s is not None and reference is not None
            else None
        )
        self.busy = self.utilization >= limits.utilization_high
        self.idle = self.utilization <= limits.utilization_low

    def reading(self, work: Work, why: str = "") -> WorkReading:
        return WorkReading(
            work=work,
            window=self.window,
            against=self.against,
            power_share=self.power_w / self.base_w,
            flops_share=self.flops_share,
            why=why,
        )

    def contradiction(self) -> str:
        """Which two sources cannot both be right, "" if none."""
        limits, sm = self.limits, self.window.sm_activity
        full = self.limit_w is not None and self.power_w >= limits.full_power * self.limit_w
        free = self.busy and not self.held_back()  # lower clocks draw less at the same activity
        weak = free and self.against is Against.REFERENCE and self._power() is _Level.LOW
        tensor, flops = self._tensor(), self._flops()
        found = (
            (
                self.busy and sm is not None and sm < DEAD,
                "utilisation is high and no SM was active",
            ),
            (
                self.idle and (sm or 0.0) >= limits.utilization_high,
                "SMs are busy, utilisation is low",
            ),
            (self.idle and full, "power is at the limit, utilisation is low"),
            (
                full and self.busy and self._power() is _Level.HIGH and self._tensor_stuck(),
                "power is at the limit, the activity counter is stuck",
            ),
            (
                tensor is _Level.LOW and flops is _Level.HIGH,
                "the run achieves the rate of matrix work, tensor activity is low",
            ),
            (
                weak and tensor is _Level.HIGH,
                "tensor activity is high at a power far below this card's own GEMM",
            ),
        )
        return next((said for contradicts, said in found if contradicts), "")

    def held_back(self) -> str:
        """The driver's reasons why a busy card is held back, "" if it is not."""
        if not self.busy:
            return ""
        throttle = self.window.throttle or frozenset()
        held = [reason for reason in HELD_BACK if reason in throttle]
        if held:
            return ", ".join(held)
        limit_w, reference = self.limit_w, self.reference
        if self.against is not Against.LOWERED_LIMIT or limit_w is None or reference is None:
            return ""
        if POWER_CAP not in throttle and self.power_w < self.limits.full_power * limit_w:
            return ""
        said = f"{POWER_CAP}, " if POWER_CAP in throttle else ""
        before_w = reference.power_limit_w or 0.0
        return f"{said}its power limit was lowered from {before_w:.0f} W to {limit_w:.0f} W"

    def work(self) -> Work:
        """The table of the contradiction gate."""
        power = self._power()
        if self.idle and power is _Level.LOW:
            return Work.IDLE
        if not self.busy:
            return Work.NO_CLEAR_FAULT
        matrix = self._matrix()
        if matrix is _Level.HIGH:
            return Work.MATMUL
        if power is _Level.LOW:
            return Work.UNREADABLE if self._might_be_acquitted() else Work.LOW_POWER
        if power is _Level.BETWEEN or matrix is _Level.BETWEEN:
            return Work.NO_CLEAR_FAULT
        return Work.TENSOR_IDLE if matrix is _Level.LOW else Work.TENSOR_UNKNOWN

    def _might_be_acquitted(self) -> bool:
        """Whether the one counter that could say "dense work all the same" is missing just now."""
        reason = self.window.absent.get("tensor_activity", AbsentReason.NOT_SUPPORTED)
        unsure = self.against is not Against.REFERENCE and reason is not AbsentReason.NOT_SUPPORTED
        return unsure and self._matrix() is _Level.UNKNOWN

    def _power(self) -> _Level:
        jitter_w = self.window.jitter_w
        if self.power_w - jitter_w >= self.limits.power_high * self.base_w:
            return _Level.HIGH
        low = self.power_w + jitter_w <= self.limits.power_low * self.base_w
        return _Level.LOW if low else _Level.BETWEEN

    def _matrix(self) -> _Level:
        """Tensor activity; where that is not measured, what the run achieves."""
        tensor = self._tensor()
        return self._flops() if tensor is _Level.UNKNOWN else tensor

    def _tensor(self) -> _Level:
        return _Level.UNKNOWN if self._tensor_stuck() else self._level(self.window.tensor_activity)

    def _flops(self) -> _Level:
        return self._level(self.flops_share)

    def _tensor_stuck(self) -> bool:
        """A counter that never moved and that no other counter vouches for (dcgm-exporter#662)."""
        window = self.window
        alive = window.tensor_moved or (window.sm_activity or 0.0) >= DEAD
        return window.tensor_activity is not None and not alive

    def _level(self, share: float | None) -> _Level:
        if share is None:
            return _Level.UNKNOWN
        if share >= self.limits.tensor_high:
            return _Level.HIGH
        return _Level.LOW if share <= self.limits.tensor_low else _Level.BETWEEN


def _lowered(reference: GpuReference | None, limit_w: float | None, limits: WorkLimits) -> bool:
    then_w = None if reference is None else reference.power_limit_w
    known = then_w is not None and limit_w is not None
    return known and (limit_w or 0.0) < limits.cap_lowered * (then_w or 0.0)


def _base(
    reference: GpuReference | None, limit_w: float | None, *, lowered: bool
) -> tuple[Against, float]:
    if reference is None:
        return Against.LIMIT, limit_w or 1.0
    if lowered and limit_w is not None and limit_w < reference.power_w:
        return Against.LOWERED_LIMIT, limit_w
    return Against.REFERENCE, reference.power_w
