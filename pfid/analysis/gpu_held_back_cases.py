"""Cards that are not allowed to do more: too hot, or under a limit that somebody lowered."""

from collections.abc import Iterator
from dataclasses import replace

from pfid.analysis.gpu_work_cases import NO_GPM, WorkCase, card, lasting, own_gemm, work_case
from pfid.analysis.gpu_work_limits import WorkLimits
from pfid.domain.step import Phase
from pfid.spec.fakes import moving
from pfid.spec.fakes_gpus import CONTROL_GPU
from pfid.spec.ports.gpus import GpuState


def held_back_cases(limits: WorkLimits) -> Iterator[WorkCase]:
    """Every case, for the limits in force."""
    for case in _cases(limits):
        cards = tuple(lasting(c, limits.window_s) for c in case.cards)
        yield replace(case, cards=cards, about_card=case.reason == "throttled")


def _cases(limits: WorkLimits) -> Iterator[WorkCase]:
    hot = frozenset({"hw_thermal", "hw_slowdown"})
    capped = frozenset({"sw_power_cap"})
    yield work_case("hot", "throttled", card(300.0, throttle=hot, reference=own_gemm()))
    yield work_case("hot_and_idle", "throttled", _resting(hot), moves=moving(phase=Phase.EVAL))
    half = card(300.0, utilization=0.6, throttle=hot, reference=own_gemm())
    yield work_case("hot_and_half_busy", "throttled", half)
    yield work_case(
        "at_its_limit", "matmul_bound", card(695.0, throttle=capped, reference=own_gemm())
    )
    ampere = {**NO_GPM, "throttle": capped}
    yield work_case("3090_capped_to_200_w", "tensor_activity_unknown", card(198.0, 200.0, **ampere))
    usual = {"facts": replace(CONTROL_GPU, power_limit_default_w=350.0)}
    told = card(198.0, 200.0, **ampere, state=usual)
    yield work_case("3090_capped_below_its_default", "throttled", told)
    rests = card(50.0, 200.0, **NO_GPM, state=usual)
    yield work_case("3090_below_its_default_not_reached", "busy_at_low_power", rests)
    meant = card(198.0, 200.0, **ampere, state=usual, reference=own_gemm(197.0, 200.0))
    yield work_case("3090_measured_below_its_default", "tensor_activity_unknown", meant)
    measured = own_gemm(197.0, 200.0)
    under = card(198.0, 200.0, **ampere, reference=measured)
    yield work_case("3090_measured_under_its_cap", "tensor_activity_unknown", under)
    before = own_gemm(340.0, 350.0)
    later = card(198.0, 200.0, **ampere, reference=before)
    yield work_case("3090_cap_lowered_since", "throttled", later)
    unsaid = card(198.0, 200.0, **NO_GPM, reference=before)
    yield work_case("3090_cap_lowered_and_reached", "throttled", unsaid)
    free = card(50.0, 200.0, **NO_GPM, reference=before)
    yield work_case("3090_cap_lowered_not_reached", "busy_at_low_power", free)
    for name, share, reason in (
        ("cap_just_lowered", limits.cap_lowered * 0.99, "throttled"),
        ("cap_as_it_was", limits.cap_lowered * 1.01, "tensor_activity_unknown"),
    ):
        limit_w = 700.0 * share
        found = card(limit_w, limit_w, **ampere, reference=own_gemm(698.0))
        yield work_case(name, reason, found)
        default = {"facts": replace(CONTROL_GPU, power_limit_default_w=700.0)}
        found = card(limit_w, limit_w, **ampere, state=default)
        yield work_case(f"{name}_by_default", reason, found)


def _resting(throttle: frozenset[str]) -> GpuState:
    return card(77.7, utilization=0.0, throttle=throttle, sm_activity=0.0, tensor_activity=0.0)
