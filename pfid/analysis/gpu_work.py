"""What kind of busy: utilisation, power over this card's own GEMM, and tensor activity together.

The playbook's diagnosis was 100 % utilisation at 279-292 W, 27 TFLOP/s, on a card that does 304
TFLOP/s on a dense GEMM *at the same power*. So power alone convicts nobody, and a share of the
limit misleads: 285 W is 95 % of one card and 48 % of another. Power is held against what this very
card draws on its own dense GEMM, and against the enforced limit only where nobody measured that.
"""

import math
from dataclasses import replace
from enum import Enum
from typing import Final

from pfid.analysis.gpu_window import GpuWindow
from pfid.analysis.gpu_work_limits import WorkLimits
from pfid.analysis.gpu_work_reading import Against, Work, WorkReading
from pfid.domain.gpu import AbsentReason
from pfid.domain.gpu_reference import GpuReference

HELD_BACK: Final = ("hw_slowdown", "hw_thermal", "sw_thermal", "hw_power_brake")
"""Reasons by which a card is held back against everybody's will."""
POWER_CAP: Final = "sw_power_cap"
"""Ordinary at full load; it matters where somebody lowered the limit."""
DEAD: Final = 0.01
"""Activity below which nothing can have run."""


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
    *,
    default_limit_w: float | None = None,
) -> WorkReading:
    """Say what a card is busy with.

    A figure that is missing never makes it worse: what would have to be known is said instead.

    Args:
        window: what was read of it.
        reference: its own GEMM, None if nobody measured that.
        limits: in force.
        achieved_flops_per_s: what the run reports of each card.
        default_limit_w: the card's power limit as nobody has set it, None if it does not tell.
    """
    if reference is not None and not (_counts(reference.power_w) and _counts(reference.tflops)):
        reference = None
    if achieved_flops_per_s is not None and not math.isfinite(achieved_flops_per_s):
        achieved_flops_per_s = None
    missing = _missing(window, reference, limits)
    if missing is not None:
        return missing
    usual_w = default_limit_w if reference is None else reference.power_limit_w
    case = _Case(window, reference, limits, achieved_flops_per_s, usual_w)
    contradiction = case.contradiction()
    if contradiction:
        return case.reading(Work.DISAGREE, contradiction)
    held = case.held_back()
    if held:
        return case.reading(Work.THROTTLED, held)
    work = case.work()
    fields = ("tensor_activity",) if work is Work.UNREADABLE else ()
    return replace(case.reading(work), fields=fields)


def _counts(measured: float) -> bool:
    """Whether it can be divided by."""
    return 0.0 < measured < math.inf


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
        usual_limit_w: float | None,
    ) -> None:
        self.window, self.limits, self.reference = window, limits, reference
        self.utilization = window.utilization or 0.0
        self.power_w = window.power_w or 0.0
        self.limit_w = window.power_limit_w
        self.usual_limit_w = usual_limit_w
        lowered = _lowered(usual_limit_w, self.limit_w, limits)
        self.against, self.base_w = _base(reference, self.limit_w, lowered=lowered)
        self.reported = achieved_flops_per_s is not None
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
            reported=self.reported,
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
                weak and tensor is _Level.HIGH and self._tensor_full(),
                "tensor activity is high at a power far below this card's own GEMM",
            ),
        )
        return next((said for contradicts, said in found if contradicts), "")

    def held_back(self) -> str:
        """The driver's reasons why a card is held back, "" if it is not.

        However busy it is: one that is held back makes its run wait in every phase.
        """
        throttle = self.window.throttle or frozenset()
        held = [reason for reason in HELD_BACK if reason in throttle]
        if held:
            return ", ".join(held)
        limit_w = self.limit_w
        if self.against not in _LOWERED or limit_w is None:
            return ""
        if POWER_CAP not in throttle and self.power_w < self.limits.full_power * limit_w:
            return ""
        said = f"{POWER_CAP}, " if POWER_CAP in throttle else ""
        before_w = self.usual_limit_w or 0.0
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
            partly = power is _Level.LOW and self.against is Against.REFERENCE
            return Work.NO_CLEAR_FAULT if partly else Work.MATMUL
        if power is _Level.LOW:
            return Work.UNREADABLE if self._might_be_acquitted() else Work.LOW_POWER
        if matrix is not _Level.LOW:
            unknown = matrix is _Level.UNKNOWN
            return Work.TENSOR_UNKNOWN if unknown else Work.NO_CLEAR_FAULT
        return Work.TENSOR_IDLE if power is _Level.HIGH else Work.POWER_UNCLEAR

    def _might_be_acquitted(self) -> bool:
        """Whether the one counter that could say "dense work all the same" is missing just now.

        Against its own GEMM a counter that this box will never be let read counts as one that
        there is not: half that power needs no further word.
        """
        reason = self.window.absent.get("tensor_activity", AbsentReason.NOT_SUPPORTED)
        never = {AbsentReason.NOT_SUPPORTED}
        if self.against is Against.REFERENCE:
            never.add(AbsentReason.NO_PERMISSION)
        return reason not in never and self._matrix() is _Level.UNKNOWN

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

    def _tensor_full(self) -> bool:
        return (self.window.tensor_activity or 0.0) >= self.limits.tensor_full

    def _flops(self) -> _Level:
        share = self.flops_share
        absurd = share is not None and share > self.limits.flops_most
        return self._level(None if absurd else share)

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


_LOWERED: Final = frozenset({Against.LOWERED_LIMIT, Against.BELOW_DEFAULT})


def _lowered(usual_w: float | None, limit_w: float | None, limits: WorkLimits) -> bool:
    known = usual_w is not None and limit_w is not None
    return known and (limit_w or 0.0) < limits.cap_lowered * (usual_w or 0.0)


def _base(
    reference: GpuReference | None, limit_w: float | None, *, lowered: bool
) -> tuple[Against, float]:
    if reference is None:
        return Against.BELOW_DEFAULT if lowered else Against.LIMIT, limit_w or 1.0
    if lowered and limit_w is not None and limit_w < reference.power_w:
        return Against.LOWERED_LIMIT, limit_w
    return Against.REFERENCE, reference.power_w
