"""GPUs with a known kind of work: real captures, and one case either side of each limit."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pfid.analysis.gpu_window import GAP_MAX_S
from pfid.analysis.gpu_work_limits import WorkLimits
from pfid.domain.gpu import AbsentReason, PowerSource
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.step import Phase
from pfid.spec.fakes import moving
from pfid.spec.fakes_gpus import CONTROL_GPU, gemm_reference, gpu_samples, gpu_state
from pfid.spec.ports.gpus import GpuState
from pfid.spec.ports.steps import Progress

READINGS: Final = 6
"""Few readings are enough for a mean, and a proof reads them many times."""
PLAYBOOK_TENSOR: Final = 27 / 304
"""The playbook's run reached 27 of the 304 TFLOP/s that its card does on a dense GEMM."""
NO_GPM: Final[Mapping[str, Any]] = {"tensor_activity": None, "sm_activity": None}
"""Before Hopper there are no GPM counters."""
NO_SENSOR: Final = {
    "utilization": AbsentReason.NOT_SUPPORTED,
    "power_w": AbsentReason.NOT_SUPPORTED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkCase:
    """One run on its GPUs, and the reason code that must come of it.

    Attributes:
        name: of the case.
        reason: the answer.
        cards: the run's GPUs.
        moves: its progress.
        flops_per_s: what it reports to achieve.
        about_card: whether the verdict is about the card and not the run.
    """

    name: str
    reason: str
    cards: tuple[GpuState, ...]
    moves: Progress | None
    flops_per_s: float | None = None
    about_card: bool = False


def card(
    watts: float | None = 627.4,
    limit_w: float | None = 700.0,
    *,
    seconds: float = 60.0,
    reference: GpuReference | None = None,
    state: Mapping[str, Any] | None = None,
    **sample: Any,
) -> GpuState:
    """A GPU that drew ``watts`` all the time, an H200 in dense GEMM unless said otherwise."""
    n = _readings(seconds)
    fields = {"power_w": watts, "power_limit_w": limit_w, **sample}
    samples = gpu_samples(n, every_s=seconds / n, **fields)
    return gpu_state(samples, **{"reference": reference, **(state or {})})


def own_gemm(watts: float = 640.0, limit_w: float | None = 700.0, **more: Any) -> GpuReference:
    """What a card drew on its own GEMM."""
    return gemm_reference(power_w=watts, power_limit_w=limit_w, **more)


def work_case(name: str, reason: str, *cards: GpuState, **more: Any) -> WorkCase:
    """A run on these cards that makes progress, unless said otherwise."""
    return WorkCase(
        name=name, reason=reason, cards=cards, **{"moves": moving(since_progress_s=10.0), **more}
    )


def work_cases(limits: WorkLimits, hung_s: float) -> Iterator[WorkCase]:
    """Every case, for the limits in force. The first is the healthy world."""
    for cases in (
        _captures(limits, hung_s),
        _contradictions(limits),
        _missing(),
        _edges(limits),
    ):
        for case in cases:
            yield replace(case, cards=tuple(lasting(c, limits.window_s) for c in case.cards))
    yield from _window_edges(limits)


def _captures(limits: WorkLimits, hung_s: float) -> Iterator[WorkCase]:
    """Values that real cards have shown."""
    busy = card(reference=own_gemm())
    yield work_case("h200_under_load", "matmul_bound", busy)
    yield work_case("h200_under_load_without_reference", "matmul_bound", card())
    idle = card(77.7, utilization=0.0, sm_activity=0.0, tensor_activity=0.0, reference=own_gemm())
    yield work_case("h200_idle_in_training", "gpu_starved", idle)
    for phase in (Phase.EVAL, Phase.CHECKPOINT, Phase.RESUME_SKIP):
        moves = moving(phase=phase)
        yield work_case(f"h200_idle_in_{phase.value}", "waits_by_phase", idle, moves=moves)
    yield work_case(
        "idle_before_the_first_step", "waits_by_phase", idle, moves=moving(steps_seen=0)
    )
    yield work_case("idle_and_no_steps_readable", "phase_unknown", idle, moves=None)
    yield work_case("one_of_two_idle", "some_gpus_idle", busy, idle)
    yield work_case("seven_of_eight_idle", "some_gpus_idle", busy, *[idle] * 7)
    evaluates = moving(phase=Phase.EVAL)
    yield work_case("one_of_two_idle_in_eval", "no_clear_fault", busy, idle, moves=evaluates)
    yield work_case("one_of_two_idle_in_what", "phase_unknown", busy, idle, moves=None)
    l40s_w, limit_w = 145.0, 350.0
    low = l40s_w <= limits.power_low * limit_w
    reason = "busy_at_low_power" if low else "tensor_activity_unknown"
    yield work_case("l40s_busy_with_nothing", reason, card(l40s_w, limit_w, **NO_GPM))
    mig = replace(CONTROL_GPU, mig=True)
    under_mig = card(
        295.0, utilization=None, absent=NO_SENSOR, state={"facts": mig}, tensor_activity=None
    )
    yield work_case("h200_under_mig", "mig_shares_the_card", under_mig)
    v100 = card(None, 250.0, **NO_GPM, power_source=PowerSource.AVERAGE)
    v100 = replace(v100, samples=_between(v100, 40.0, 47.0))
    stalled = moving(since_progress_s=hung_s * 1.01)
    yield work_case("v100_hung", "hung_in_collective", v100, moves=stalled)
    yield work_case("v100_spins_and_steps", "busy_at_low_power", v100)
    yield work_case(
        "v100_spins_in_checkpoint", "waits_by_phase", v100, moves=moving(phase=Phase.SAVE)
    )
    yield work_case("v100_spins_and_nobody_can_read", "busy_at_low_power", v100, moves=None)
    a100 = card(70.0, 400.0, **NO_GPM)
    yield work_case("a100_nccl_hang", "hung_in_collective", a100, a100, moves=stalled)
    for limit_w in (300.0, 600.0):
        playbook = card(
            None, limit_w, tensor_activity=PLAYBOOK_TENSOR, reference=own_gemm(285.5, limit_w)
        )
        playbook = replace(playbook, samples=_between(playbook, 279.0, 292.0))
        yield work_case(f"playbook_limit_{limit_w:.0f}_w", "sm_busy_tensor_idle", playbook)
    fp32 = card(tensor_activity=0.0, reference=own_gemm())
    yield work_case("tensor_cores_not_used_at_all", "sm_busy_tensor_idle", fp32)


def _between(state: GpuState, low_w: float, high_w: float) -> tuple[Any, ...]:
    """Power that goes up and down between two values that a capture names."""
    steps = (0.0, 0.5, 1.0, 0.5)
    return tuple(
        replace(s, power_w=low_w + (high_w - low_w) * steps[i % 4])
        for i, s in enumerate(state.samples)
    )


def _contradictions(limits: WorkLimits) -> Iterator[WorkCase]:
    """What two sensors cannot both mean: a fault of the sensor, and no word on the run."""
    dead: dict[str, Any] = {"sm_activity": 0.0, "tensor_activity": 0.0}
    full_w = 700.0 * limits.full_power
    below = card(full_w * 0.99, sm_activity=None, tensor_activity=0.0, reference=own_gemm())
    stuck = card(full_w * 1.01, sm_activity=None, tensor_activity=0.0, reference=own_gemm())
    fake = replace(own_gemm(), power_w=140.0)
    for name, found in (
        ("no_activity_at_600_w", card(**dead, reference=own_gemm())),
        ("busy_with_no_sm_active", card(100.0, **dead)),
        ("only_counter_stuck", stuck),
        ("full_power_and_idle", card(full_w * 1.01, utilization=0.0, **NO_GPM)),
        ("sms_busy_and_idle", card(100.0, utilization=0.0)),
        ("tensor_busy_far_below_its_gemm", card(200.0, reference=own_gemm())),
    ):
        yield work_case(name, "sensors_disagree", found, about_card=True)
    idle = card(full_w * 0.99, utilization=0.0, reference=fake, **NO_GPM)
    yield work_case("nearly_full_power_and_idle", "no_clear_fault", idle)
    yield work_case("counter_stuck_below_the_limit", "tensor_activity_unknown", below)
    slow = card(tensor_activity=0.05, reference=own_gemm())
    yield work_case(
        "achieves_what_no_counter_sees", "sensors_disagree", slow, flops_per_s=5e14, about_card=True
    )
    yield work_case("little_achieved_either", "sm_busy_tensor_idle", slow, flops_per_s=5e13)


def _missing() -> Iterator[WorkCase]:
    """What cannot be read, cannot be compared, or is not there."""
    blind = {"utilization": None, "power_w": None}
    never = card(utilization=None, watts=None, absent=NO_SENSOR)
    yield work_case("wsl_tells_nothing", "not_measured_here", never)
    refused = dict.fromkeys(blind, AbsentReason.NO_PERMISSION)
    yield work_case(
        "not_allowed_to_read", "field_unreadable", card(None, utilization=None, absent=refused)
    )
    yield work_case("ampere", "tensor_activity_unknown", card(reference=own_gemm(), **NO_GPM))
    no_limit = {"power_limit_w": AbsentReason.NOT_SUPPORTED}
    gb10 = replace(CONTROL_GPU, capability=(12, 1), memory_total_bytes=None)
    shared = {"facts": gb10}
    fields = {**NO_GPM, "memory_used_bytes": None, "absent": no_limit}
    yield work_case("gb10", "no_comparison", card(60.0, None, state=shared, **fields))
    measured = own_gemm(80.0, None)
    known = card(78.0, None, state=shared, reference=measured, **fields)
    yield work_case("gb10_with_its_gemm", "tensor_activity_unknown", known)
    lost_limit = card(300.0, None, reference=own_gemm(), **NO_GPM)
    yield work_case("limit_not_readable_any_more", "field_unreadable", lost_limit)
    yield work_case("gone", "gpu_not_present", gpu_state((), present=False))
    yield work_case("nothing_read_yet", "window_too_short", gpu_state(()))
    reports = card(reference=own_gemm(), **NO_GPM)
    yield work_case("achieves_its_gemm", "matmul_bound", reports, flops_per_s=4e14)
    yield work_case("achieves_little", "sm_busy_tensor_idle", reports, flops_per_s=5e13)


def _edges(limits: WorkLimits) -> Iterator[WorkCase]:
    """Just either side of each limit."""
    gemm = own_gemm(640.0)
    spin: dict[str, Any] = {"tensor_activity": 0.05, "reference": gemm}
    for name, share, reason in (
        ("power_just_high", limits.power_high * 1.01, "sm_busy_tensor_idle"),
        ("power_not_high", limits.power_high * 0.99, "tensor_idle_power_unclear"),
        ("power_not_low", limits.power_low * 1.01, "tensor_idle_power_unclear"),
        ("power_just_low", limits.power_low * 0.99, "busy_at_low_power"),
    ):
        yield work_case(name, reason, card(640.0 * share, **spin))
    for name, share, reason in (
        ("tensor_just_high", limits.tensor_high * 1.01, "matmul_bound"),
        ("tensor_not_high", limits.tensor_high * 0.99, "no_clear_fault"),
        ("tensor_not_low", limits.tensor_low * 1.01, "no_clear_fault"),
        ("tensor_just_low", limits.tensor_low * 0.99, "sm_busy_tensor_idle"),
    ):
        yield work_case(name, reason, card(tensor_activity=share, reference=gemm))
    for name, share, reason in (
        ("just_busy", limits.utilization_high * 1.01, "busy_at_low_power"),
        ("not_busy", limits.utilization_high * 0.99, "no_clear_fault"),
        ("not_idle", limits.utilization_low * 1.01, "no_clear_fault"),
        ("just_idle", limits.utilization_low * 0.99, "gpu_starved"),
    ):
        yield work_case(name, reason, card(200.0, utilization=share, reference=gemm, **NO_GPM))
    noisy = card(None, 640.0, power_source=PowerSource.INSTANT, **NO_GPM)
    noisy = replace(noisy, samples=_between(noisy, 150.0, 450.0))
    yield work_case("low_within_its_own_jitter", "tensor_activity_unknown", noisy)
    half_w = 640.0 * limits.power_low * 0.9
    full = card(half_w, tensor_activity=limits.tensor_full * 1.01, reference=gemm)
    yield work_case("tensor_just_full_at_low_power", "sensors_disagree", full, about_card=True)
    partly = card(half_w, tensor_activity=limits.tensor_full * 0.99, reference=gemm)
    yield work_case("tensor_not_full_at_low_power", "no_clear_fault", partly)
    reports = card(reference=gemm, **NO_GPM)
    for name, share, reason in (
        ("achieves_what_can_just_be", 0.99, "matmul_bound"),
        ("achieves_more_than_can_be", 1.01, "tensor_activity_unknown"),
    ):
        most = limits.flops_most * gemm.tflops * 1e12
        yield work_case(name, reason, reports, flops_per_s=most * share)


def _window_edges(limits: WorkLimits) -> Iterator[WorkCase]:
    """How much of the window must be covered, and where it ends."""
    whole = limits.window_s * limits.covered
    for name, seconds, reason in (
        ("window_just_covered", whole * 1.05, "matmul_bound"),
        ("window_not_covered", whole * 0.95, "window_too_short"),
    ):
        yield work_case(name, reason, card(seconds=seconds, reference=own_gemm()))
    # The reading before the window was one of idleness: a longer window would take it in.
    yield work_case(
        "idle_before_the_window", "busy_at_low_power", _was_idle(limits, limits.window_s * 1.02)
    )
    yield work_case(
        "idle_within_the_window", "no_clear_fault", _was_idle(limits, limits.window_s * 0.9)
    )


def _readings(seconds: float) -> int:
    return max(READINGS, math.ceil(seconds / GAP_MAX_S))


def lasting(state: GpuState, seconds: float) -> GpuState:
    """The same readings over and over, so that they fill a window of any length."""
    if not state.samples:
        return state
    n = _readings(seconds)
    times = gpu_samples(n, every_s=seconds / n)
    samples = (
        replace(state.samples[i % len(state.samples)], at_s=t.at_s, window_s=t.window_s)
        for i, t in enumerate(times)
    )
    return replace(state, samples=tuple(samples))


def _was_idle(limits: WorkLimits, busy_s: float) -> GpuState:
    """Busy at low power for ``busy_s``, before that idle: utilisation tells the two apart."""
    n = 24
    each_s = busy_s / n
    samples = gpu_samples(
        3 * n,
        every_s=each_s,
        power_w=200.0,
        utilization=lambda i: limits.utilization_high * 1.01 if i >= 2 * n else 0.0,
        **NO_GPM,
    )
    return gpu_state(samples, reference=own_gemm())
