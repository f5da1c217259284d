"""Fail when a run keeps its GPUs busy with the wrong kind of work, or with none.

A busy card is held against what this very card draws on its own dense GEMM (``pfid probe gemm``),
and against its enforced limit only where nobody measured that; the verdict says which. Two sources
must agree before a run fails: ``sm_busy_tensor_idle``: busy at full power without matrix work;
``busy_at_low_power``: spinning, waiting, or launching; ``hung_in_collective``: likewise, and no
step for much longer than ever; ``gpu_starved``: idle in training. ``throttled`` and
``sensors_disagree`` are about the card; the latter says nothing about the run.

A phase other than training excuses GPUs that wait, but not for ever: beyond its time without a
sign of progress a spinning run hangs, and of an idle one nobody knows (``phase_lasts_too_long``;
``run_stalled`` says that it stands).

Where some of a run's GPUs idle in training and others do not, nothing fails: a stage may wait for
another, or a program hold a card that it does not mean to use (``some_gpus_idle``). Nor does
anything between half and three quarters of the power of its GEMM (``tensor_idle_power_unclear``).

Blind spot: before Hopper nothing measures tensor activity, so power is UNKNOWN unless the run
reports its FLOP/s. Under MIG, figures of the card are nobody's. On a card shared with others they
cannot be told apart. What lasts less than a minute is not seen.

When it fires: ``sm_busy_tensor_idle``: take a profile and look at the kernel table; masked or fp32
attention, an optimizer without fused kernels and a missing linear-attention kernel are the usual
ones. ``hung_in_collective``: look for the rank that is missing or behind. ``gpu_starved``: look at
the data loader. ``some_gpus_idle``: look for ranks that never began, or hide cards that are not
meant (CUDA_VISIBLE_DEVICES). ``throttled``: cooling, power supply, or somebody's power limit; if
that is meant, run ``pfid probe gemm`` again. ``sensors_disagree``: reload the driver before
believing any figure.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from pfid.analysis.gpu_hang_cases import hang_cases, waiting_cases
from pfid.analysis.gpu_held_back_cases import held_back_cases
from pfid.analysis.gpu_presence import age_s, gpus_exist
from pfid.analysis.gpu_waiting import idles, spins
from pfid.analysis.gpu_window import newest_window
from pfid.analysis.gpu_work import classify
from pfid.analysis.gpu_work_cases import WorkCase, card, own_gemm, work_cases
from pfid.analysis.gpu_work_reading import Work, WorkReading
from pfid.analysis.gpu_work_words import ANSWERS, WORST_FIRST, clauses, figures
from pfid.analysis.phase_waits import PhaseWaits
from pfid.domain.names import RunId
from pfid.domain.run import EndKind, RunEnd, RunState
from pfid.domain.step import Phase
from pfid.spec import (
    AnyCheck,
    Check,
    Control,
    Entity,
    EntityKind,
    Hysteresis,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
)
from pfid.spec.fakes import CONTROL_SUBJECT, FixedSteps, moving, run_world
from pfid.spec.fakes_gpus import CONTROL_HOLDER, gpus
from pfid.spec.ports.gpus import AchievedFlops, GpuHolder, GpuState, SamplerFacts

BYSTANDER_BYTES: Final = 256 * 1024**2
"""A stranger that holds less is a monitor or a display, and does no work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(PhaseWaits):
    """Limits of DESIGN section 10, when a waiting run hangs, and ``fresh_s``.

    Attributes:
        fresh_s: how old the newest batch of readings may be.
    """

    fresh_s: float = limit(30.0, unit="s", factor=1.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One of the run's GPUs, and whether strangers work on it."""

    state: GpuState
    shared: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was read.

    Attributes:
        ended: whether the run has.
        suspended: whether somebody stopped it.
        gpus_exist: whether the box has any.
        cards: the run's; None if that cannot be told.
        apart: whether that is because pfid runs in a container.
        age_s: of the newest batch.
        flops_per_s: what the run reports to achieve on one GPU.
        phase: None if neither log nor step file can be read.
        stepped: whether a step was seen.
        since_s: since the last sign of progress.
        longest_s: longest gap of this phase, 0 if none was seen.
    """

    ended: bool
    suspended: bool
    gpus_exist: bool
    cards: tuple[Card, ...] | None
    apart: bool
    age_s: float
    flops_per_s: float | None
    phase: Phase | None
    stepped: bool
    since_s: float
    longest_s: float


def observe(world: World) -> Seen:
    """Read the run's GPUs, and what it says it does."""
    facts, mine = world.run.facts(), world.gpus.mine()
    moves, achieved = (world.steps.progress(), world.gpus.achieved()) if mine else (None, None)
    return Seen(
        ended=facts.end is not None,
        suspended=facts.state is RunState.SUSPENDED,
        gpus_exist=gpus_exist(world.gpus),
        cards=None if mine is None else tuple(_card(s, facts.run.run_id) for s in mine),
        apart=any(state.foreign_pids for state in world.gpus.all()),
        age_s=age_s(world.gpus.sampler()),
        flops_per_s=None if achieved is None else achieved.flops_per_s,
        phase=None if moves is None else moves.phase,
        stepped=moves is not None and moves.steps_seen > 0,
        since_s=0.0 if moves is None else moves.since_progress_s,
        longest_s=0.0 if moves is None else moves.longest_gap_s.get(moves.phase, 0.0),
    )


def _card(state: GpuState, run_id: RunId) -> Card:
    strangers = (h for h in state.holders or () if h.run_id != run_id and not h.graphics)
    works = any(h.memory_bytes is None or h.memory_bytes >= BYSTANDER_BYTES for h in strangers)
    return Card(state=state, shared=works)


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Classify every card of the run and let the worst speak."""
    early = _nothing_to_judge(seen, limits)
    if early:
        return ANSWERS.say(early)
    readings = [_read(card, seen, limits) for card in seen.cards or ()]
    idle_only = all(r.work is Work.IDLE for _, r in readings)
    reasons = [_reason(c, r, seen, limits, idle_only=idle_only) for c, r in readings]
    reason = min(reasons, key=WORST_FIRST.index)
    those = [c for (c, _), its in zip(readings, reasons, strict=True) if its == reason]
    _, reading = readings[reasons.index(reason)]
    about_card = Entity(EntityKind.GPU, those[0].state.facts.uuid)
    return ANSWERS.say(
        reason,
        f"GPU {', '.join(str(c.state.facts.index) for c in those)}",
        *clauses(reason, reading),
        figures=figures(reading, len(readings)),
        entity=about_card if reason in _OF_THE_CARD else None,
    )


def _nothing_to_judge(seen: Seen, limits: Limits) -> str:
    if seen.ended:
        return "ended"
    if seen.cards is None and seen.gpus_exist:
        return "in_a_container" if seen.apart else "holders_unknown"
    if not seen.cards:
        return "no_gpu"
    return "telemetry_stale" if seen.age_s > limits.fresh_s else ""


def _read(card: Card, seen: Seen, limits: Limits) -> tuple[Card, WorkReading]:
    window = newest_window(card.state.samples, limits.window_s)
    state = card.state
    default_w = state.facts.power_limit_default_w
    reading = classify(window, state.reference, limits, seen.flops_per_s, default_limit_w=default_w)
    return card, reading


def _reason(
    card: Card, reading: WorkReading, seen: Seen, limits: Limits, *, idle_only: bool
) -> str:
    if not card.state.present:
        return "gpu_not_present"
    if card.state.facts.mig:
        return "mig_shares_the_card"
    if card.shared and reading.work in _OF_THE_RUN:
        return "shared_gpu"
    if reading.work is Work.IDLE:
        alone = idles(seen, limits)
        return alone if idle_only else _BESIDE.get(alone, Work.NO_CLEAR_FAULT.value)
    return spins(seen, limits) if reading.work is Work.LOW_POWER else reading.work.value


_BESIDE: Final = {"gpu_starved": "some_gpus_idle", "phase_unknown": "phase_unknown"}
"""Of a card that idles while another of the run does not: whether it is needed is not known."""
_OF_THE_CARD: Final = frozenset({Work.DISAGREE.value, Work.THROTTLED.value})
"""Told by the card's own sensors alone, which convict no run."""
_OF_THE_RUN: Final = frozenset(
    {
        Work.MATMUL,
        Work.NO_CLEAR_FAULT,
        Work.TENSOR_IDLE,
        Work.TENSOR_UNKNOWN,
        Work.POWER_UNCLEAR,
        Work.LOW_POWER,
    }
)


def controls(limits: Limits) -> Iterable[Control]:
    """Real captures, both sides of each limit, and whatever has no answer."""
    yield from map(_of_case, work_cases(limits, limits.hung_s))
    yield from map(_of_case, held_back_cases(limits))
    yield from map(_of_case, hang_cases(limits.window_s, limits.hung_s, limits.hung_gaps))
    yield from map(_of_case, waiting_cases(limits.window_s, limits.floors_s()))
    busy = card(seconds=limits.window_s, reference=own_gemm())
    other = GpuHolder(pid=77, memory_bytes=2 * BYSTANDER_BYTES, uid=1001, username="other")
    small = GpuHolder(pid=78, memory_bytes=BYSTANDER_BYTES // 2, uid=0, username="root")
    yield _on("shared", "shared_gpu", replace(busy, holders=(CONTROL_HOLDER, other)))
    yield _on("monitor_beside", "matmul_bound", replace(busy, holders=(CONTROL_HOLDER, small)))
    yield _on("nothing_told", "holders_unknown", busy, held=None)
    apart = replace(busy, foreign_pids=True)
    yield _on("in_a_container", "in_a_container", apart, held=None)
    yield _on("on_no_gpu", "no_gpu", busy, held=())
    yield _on("box_without_gpus", "no_gpu", held=None, counted=None)
    for name, age, code in (
        ("just_fresh", limits.fresh_s * 0.99, "matmul_bound"),
        ("stale", limits.fresh_s * 1.01, "telemetry_stale"),
    ):
        yield _on(name, code, busy, how=SamplerFacts(since_success_s=age))
    dead: dict[str, Any] = {"sm_activity": 0.0, "tensor_activity": 0.0}
    idle = card(77.7, seconds=limits.window_s, utilization=0.0, **dead)
    yield _on("suspended", "waits_by_phase", idle, run=run_world(state=RunState.SUSPENDED))
    end = RunEnd(kind=EndKind.EXITED, exit_code=0, signal=None, at_s=0.0)
    yield _on("over", "ended", idle, run=run_world(end=end))


def _of_case(case: WorkCase) -> Control:
    flops = case.flops_per_s
    reports = None if flops is None else AchievedFlops(flops_per_s=flops, window_s=60.0)
    control = _on(case.name, case.reason, *case.cards, moves=case.moves, reports=reports)
    if not case.about_card:
        return control
    return replace(control, entity=Entity(EntityKind.GPU, case.cards[0].facts.uuid))


def _on(name: str, code: str, *states: GpuState, **more: Any) -> Control:
    moves = more.pop("moves", moving(since_progress_s=1.0))
    run: World = more.pop("run", run_world())
    world = World(
        subject=CONTROL_SUBJECT,
        run=run.run,
        steps=FixedSteps(moves=moves),
        gpus=gpus(*states, **more),
    )
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="gpu_work_kind",
        stage=Stage.WATCH,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        hysteresis=Hysteresis(fire_m=3, fire_n=4, clear_k=2, floor_s=45.0, unknown_k=2),
        cadence_s=15.0,
        reads=("run", "steps", "gpus"),
        runbook=__doc__,
    )
