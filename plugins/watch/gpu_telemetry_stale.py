"""Fail when pfid's own eyes on the GPUs are shut: no fresh readings on a box that has GPUs.

No word on any run: after an upgrade of the driver under a running job, telemetry is gone and the
job is fine. Every other check of GPUs says UNKNOWN meanwhile. A box without GPUs, or one whose
configuration switched sampling off, has nothing to be stale.

Blind spot: a driver that answers punctually with old figures. Two of them that contradict each
other are ``sensors_disagree`` of ``gpu_work_kind``.

When it fires: ``hung``: a call into the driver does not return; processes on the card may be stuck
in state D, and a restart of pfid does not help. ``driver_mismatch``: reload the driver or restart
the box when the jobs are done. ``no_permission``: the daemon needs ``DeviceAllow=char-nvidia*``.
``no_library``: the driver's package is not installed, or not in this container.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pfid.analysis.gpu_presence import age_s, gpus_exist
from pfid.spec import (
    BOX,
    Answers,
    AnyCheck,
    Check,
    Control,
    Hysteresis,
    Outcome,
    Scope,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
)
from pfid.spec.fakes_gpus import CONTROL_BUS_ID, gpu_state, gpus
from pfid.spec.ports.gpus import GpuCount, SamplerFacts, SamplerProblem

ANSWERS: Final = Answers(
    {
        "fresh": (Outcome.PASS, "readings of the GPUs are fresh"),
        "stale": (Outcome.FAIL, "no reading of the GPUs has come for too long"),
        "hung": (Outcome.FAIL, "a call into the GPU driver does not return"),
        "crashed": (Outcome.FAIL, "the GPU sampler ends again and again"),
        "driver_mismatch": (Outcome.FAIL, "GPU driver and library differ in version"),
        "no_permission": (Outcome.FAIL, "pfid may not read the GPUs"),
        "no_driver": (Outcome.FAIL, "there are GPUs and their driver is not loaded"),
        "no_library": (Outcome.FAIL, "there are GPUs and no library to read them with"),
        "fatal_xid": (Outcome.FAIL, "reading was stopped after a fatal error of a GPU"),
        "starting": (Outcome.UNKNOWN, "the first reading has not come yet"),
        "disabled": (Outcome.NOT_APPLICABLE, "sampling of GPUs is switched off"),
        "no_gpus": (Outcome.NOT_APPLICABLE, "the box has no GPU"),
    }
)
_BY_PROBLEM: Final[Mapping[SamplerProblem, str]] = {
    SamplerProblem.HUNG: "hung",
    SamplerProblem.CRASHED: "crashed",
    SamplerProblem.DRIVER_MISMATCH: "driver_mismatch",
    SamplerProblem.NO_PERMISSION: "no_permission",
    SamplerProblem.NO_DRIVER: "no_driver",
    SamplerProblem.NO_LIBRARY: "no_library",
    SamplerProblem.FATAL_XID: "fatal_xid",
}
"""Problems with a name of their own; any other is ``stale`` once it has lasted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """A busy driver is slow, and that is no fault: two seconds would cry wolf.

    Attributes:
        stale_s: seconds without a batch.
        intervals: likewise, in intervals between two samples.
    """

    stale_s: float = limit(30.0, unit="s", factor=1.1)
    intervals: float = limit(10.0, unit="1", factor=1.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How the sampler does; ``batches`` tells whether a good one ever came."""

    exist: bool
    problem: SamplerProblem
    age_s: float
    batches: bool
    interval_s: float


def observe(world: World) -> Seen:
    """Read the sampler's standing."""
    sampler = world.gpus.sampler()
    return Seen(
        exist=gpus_exist(world.gpus),
        problem=sampler.problem,
        age_s=age_s(sampler),
        batches=sampler.since_success_s is not None,
        interval_s=sampler.interval_s,
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Stale is what is older than both limits; the reason is the sampler's."""
    allowed_s = max(limits.stale_s, limits.intervals * seen.interval_s)
    figures = {
        "age": (seen.age_s, "s"),
        "allowed": (allowed_s, "s"),
        "interval": (seen.interval_s, "s"),
    }
    return ANSWERS.say(_code(seen, allowed_s), figures=figures)


def _code(seen: Seen, allowed_s: float) -> str:
    if seen.problem is SamplerProblem.DISABLED:
        return "disabled"
    if not seen.exist:
        return "no_gpus"
    if seen.age_s > allowed_s:
        return _BY_PROBLEM.get(seen.problem, "stale")
    return "fresh" if seen.batches else "starting"


def controls(limits: Limits) -> Iterable[Control]:
    """Both limits from both sides, every problem, and boxes without GPUs."""
    late_s = max(limits.stale_s, limits.intervals) * 10
    yield _control("punctual", "fresh", SamplerFacts())
    yield _control("just_fresh", "fresh", SamplerFacts(since_success_s=limits.stale_s * 0.99))
    yield _control("just_stale", "stale", SamplerFacts(since_success_s=limits.stale_s * 1.01))
    slow_s = 2 * limits.stale_s / limits.intervals
    for name, share, code in (("in_time", 0.99, "fresh"), ("too_late", 1.01, "stale")):
        aged = SamplerFacts(since_success_s=2 * limits.stale_s * share, interval_s=slow_s)
        yield _control(f"seldom_and_{name}", code, aged)
    for problem, code in _BY_PROBLEM.items():
        yield _control(problem.value, code, SamplerFacts(problem=problem, since_success_s=late_s))
    brief = SamplerFacts(problem=SamplerProblem.HUNG, since_success_s=limits.stale_s * 0.5)
    yield _control("slow_call", "fresh", brief)
    other = SamplerFacts(problem=SamplerProblem.OTHER, since_success_s=late_s)
    yield _control("of_another_kind", "stale", other)
    begun = SamplerFacts(
        problem=SamplerProblem.STARTING, since_success_s=None, running_s=limits.stale_s * 0.5
    )
    yield _control("begins", "starting", begun)
    never = SamplerFacts(problem=SamplerProblem.NO_LIBRARY, since_success_s=None, running_s=late_s)
    yield _control("never_came", "no_library", never)
    on_bus = GpuCount(visible=frozenset(), on_bus=frozenset({CONTROL_BUS_ID}))
    yield _control("card_without_driver", "no_library", never, states=(), counted=on_bus)
    empty = GpuCount(visible=frozenset(), on_bus=frozenset())
    yield _control("no_gpu_on_the_bus", "no_gpus", never, states=(), counted=empty)
    off = SamplerFacts(problem=SamplerProblem.DISABLED, since_success_s=None)
    yield _control("switched_off", "disabled", off)


def _control(name: str, code: str, how: SamplerFacts, **more: Any) -> Control:
    return ANSWERS.control(name, code, World(subject=BOX, gpus=gpus(gpu_state(), how=how, **more)))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="gpu_telemetry_stale",
        stage=Stage.WATCH,
        scope=Scope.BOX,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        hysteresis=Hysteresis(clear_k=2),
        cadence_s=10.0,
        reads=("gpus",),
        runbook=__doc__,
    )
