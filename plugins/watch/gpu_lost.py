"""Fail when the box has fewer GPUs than it should.

A lost GPU simply disappears from the driver's list. So what is expected is remembered by PCI bus
id, across restarts, and compared with the PCI bus and with the configured number, which is the
last word. A driver that cannot be read at all is ``gpu_telemetry_stale``, not a loss.

Blind spot: a card that was gone before pfid ever ran, on a box whose bus does not list it and
whose configuration does not say how many there are. A card that is listed and answers nonsense is
here; its figures are absent with a reason. In a container, in a job that was given a part of the
box, and without permission for device nodes, a card that never answered pfid may be somebody
else's, and is UNKNOWN.

When it fires: the kernel's messages (Xid 79, PCIe errors), then power and seating. Runs on the card
are lost; others may hang in their next collective. If the card was taken out on purpose, or belongs
to somebody else (a container, a virtual machine), state the number of GPUs in the configuration.
"""

from collections.abc import Iterable
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
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
)
from pfid.spec.fakes_gpus import CONTROL_BUS_ID, gpu_state, gpus
from pfid.spec.ports.gpus import GpuCount, SamplerFacts, SamplerProblem, Withheld

ANSWERS: Final = Answers(
    {
        "all_present": (Outcome.PASS, "every GPU that should be there answers"),
        "gone": (Outcome.FAIL, "a GPU that was there does not answer any more"),
        "never_answered": (Outcome.FAIL, "a GPU is on the PCI bus and its driver never answered"),
        "fewer_than_configured": (Outcome.FAIL, "there are fewer GPUs than configured"),
        "not_ours_to_see": (
            Outcome.UNKNOWN,
            "a GPU on the PCI bus never answered and need not be ours to see",
        ),
        "driver_unreadable": (Outcome.UNKNOWN, "the driver cannot be asked which GPUs there are"),
        "count_unknown": (Outcome.UNKNOWN, "nobody knows how many GPUs there should be"),
        "no_gpus": (Outcome.NOT_APPLICABLE, "the box has no GPU"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How old the driver's list may be, seconds."""

    fresh_s: float = limit(30.0, unit="s", factor=1.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What there is and what there should be.

    Attributes:
        exist: whether the box has any GPU.
        readable: whether the driver answers.
        age_s: of its newest list.
        count: which GPUs there should be, None if nobody knows.
    """

    exist: bool
    readable: bool
    age_s: float
    count: GpuCount | None


def observe(world: World) -> Seen:
    """Read the count and how the sampler does."""
    sampler = world.gpus.sampler()
    return Seen(
        exist=gpus_exist(world.gpus),
        readable=sampler.problem is SamplerProblem.NONE,
        age_s=age_s(sampler),
        count=world.gpus.count(),
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Compare; a number somebody configured outranks what was seen."""
    if not seen.exist:
        return ANSWERS.say("no_gpus")
    if not seen.readable or seen.age_s > limits.fresh_s:
        return ANSWERS.say("driver_unreadable")
    if seen.count is None:
        return ANSWERS.say("count_unknown")
    count = seen.count
    reason, which = _missing(count)
    return ANSWERS.say(
        reason,
        ", ".join(sorted(which)),
        figures={"expected": (count.expected, "1"), "visible": (len(count.visible), "1")},
    )


def _missing(count: GpuCount) -> tuple[str, frozenset[str]]:
    gone = count.remembered - count.visible
    if count.configured is not None:
        enough = len(count.visible) >= count.configured
        return ("all_present", frozenset()) if enough else ("fewer_than_configured", count.missing)
    if gone:
        return "gone", gone
    if not count.missing:
        return "all_present", frozenset()
    ours = count.withheld is Withheld.NONE
    return "never_answered" if ours else "not_ours_to_see", count.missing


def controls(limits: Limits) -> Iterable[Control]:
    """Eight cards of which one goes, and everything that is no loss."""
    eight = frozenset(f"0000:{n:02x}:00.0" for n in range(8))
    seven = eight - {"0000:03:00.0"}
    one = frozenset({CONTROL_BUS_ID})
    yield _control("all_eight", "all_present", GpuCount(visible=eight, remembered=eight))
    yield _control("one_of_eight_gone", "gone", GpuCount(visible=seven, remembered=eight))
    gone = GpuCount(visible=seven, remembered=eight, on_bus=seven)
    yield _control("gone_from_the_bus_too", "gone", gone)
    dark = GpuCount(visible=seven, remembered=seven, on_bus=eight)
    yield _control("on_the_bus_and_silent", "never_answered", dark)
    none = GpuCount(visible=frozenset(), on_bus=eight)
    yield _control("driver_sees_none_of_eight", "never_answered", none)
    for why in (Withheld.CONTAINER, Withheld.ALLOCATION, Withheld.NO_PERMISSION):
        part = GpuCount(visible=one, remembered=one, on_bus=eight, withheld=why)
        yield _control(f"given_one_of_eight_{why.value}", "not_ours_to_see", part)
    lost = GpuCount(
        visible=one, remembered=one | {"0000:03:00.0"}, on_bus=eight, withheld=Withheld.ALLOCATION
    )
    yield _control("given_two_and_one_gone", "gone", lost)
    fewer = GpuCount(visible=seven, remembered=seven, configured=8)
    yield _control("fewer_than_configured", "fewer_than_configured", fewer)
    taken_out = GpuCount(visible=seven, remembered=eight, on_bus=seven, configured=7)
    yield _control("taken_out_on_purpose", "all_present", taken_out)
    shared = GpuCount(visible=one, on_bus=eight, configured=1, withheld=Withheld.CONTAINER)
    yield _control("container_with_one", "all_present", shared)
    for problem in (SamplerProblem.DRIVER_MISMATCH, SamplerProblem.HUNG, SamplerProblem.STARTING):
        blind = SamplerFacts(problem=problem, since_success_s=1.0)
        yield _control(problem.value, "driver_unreadable", gone, how=blind)
    for name, share, code in (("fresh", 0.99, "gone"), ("stale", 1.01, "driver_unreadable")):
        aged = SamplerFacts(since_success_s=limits.fresh_s * share)
        yield _control(f"list_is_{name}", code, gone, how=aged)
    yield _control("nobody_knows", "count_unknown", None)
    absent = SamplerFacts(problem=SamplerProblem.NO_LIBRARY, since_success_s=None)
    empty = GpuCount(visible=frozenset(), on_bus=frozenset())
    yield _control("box_without_gpus", "no_gpus", empty, states=(), how=absent)


def _control(name: str, code: str, count: GpuCount | None, **more: Any) -> Control:
    world = World(subject=BOX, gpus=gpus(gpu_state(), counted=count, **more))
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="gpu_lost",
        stage=Stage.WATCH,
        scope=Scope.BOX,
        severity=Severity.CRITICAL,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        hysteresis=Hysteresis(fire_m=2, fire_n=3, clear_k=2, unknown_k=3),
        cadence_s=5.0,
        reads=("gpus",),
        runbook=__doc__,
    )
