"""Fail when GPU memory is held and nobody who lives holds it.

``held_by_zombie``: a defunct process, or one of a run whose process is defunct, still holds memory:
the run has ended, the memory was not given back. ``held_after_end``: what is left of a run that has
ended. ``held_by_nobody``: memory that no visible process accounts for. All three make the next
launch run out of memory, so ``pfid run`` refuses one on such a GPU.

Blind spot: in a container the driver names processes that cannot be seen from here, or leaves out
those of others, so nothing is claimed; nor of processes that procfs hides (``hidepid``). What a
driver keeps for itself counts as nobody's up to the limit.

When it fires: ``pfid gpus`` names the pids. For a zombie, end its parent. For leftovers of a run,
``pfid stop RUN``. For nobody's: a process in another container or namespace, a context that hangs
in the driver; ``fuser -v`` on the device files as root, and as the last resort a reset of the GPU.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pfid.domain.gpu import AbsentReason
from pfid.spec import (
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
from pfid.spec.fakes_gpus import (
    CONTROL_GPU_SUBJECT,
    CONTROL_HOLDER,
    gpu_samples,
    gpu_state,
    gpus,
)
from pfid.spec.ports.gpus import GpuHolder, GpuState

ANSWERS: Final = Answers(
    {
        "accounted_for": (Outcome.PASS, "whoever holds memory of this GPU lives"),
        "held_by_zombie": (Outcome.FAIL, "a defunct process still holds memory of this GPU"),
        "held_after_end": (Outcome.FAIL, "what is left of an ended run holds memory of this GPU"),
        "held_by_nobody": (Outcome.FAIL, "memory of this GPU is held by no visible process"),
        "holders_hidden": (Outcome.UNKNOWN, "the driver names processes that cannot be seen here"),
        "holders_unknown": (Outcome.UNKNOWN, "who is on this GPU cannot be read"),
        "memory_unknown": (
            Outcome.UNKNOWN,
            "whether somebody holds all memory in use is open",
        ),
        "not_read": (Outcome.UNKNOWN, "there is no reading of this GPU"),
        "memory_not_measured": (Outcome.NOT_APPLICABLE, "this GPU shares memory with the host"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What may be nobody's: a driver keeps some memory for itself."""

    orphaned_bytes: int = limit(512 * 1024**2, unit="bytes", factor=1.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Who is on the GPU.

    Attributes:
        read: whether there is a reading of it.
        holders: None if that cannot be read.
        unheld_bytes: nobody's, None if that cannot be told.
        measured: whether the GPU tells its memory at all.
    """

    read: bool
    holders: tuple[GpuHolder, ...] | None
    unheld_bytes: int | None
    measured: bool


def observe(world: World) -> Seen:
    """Read the newest state of the GPU."""
    mine = world.gpus.mine()
    state = mine[0] if mine else None
    newest = state.samples[-1] if state and state.samples else None
    reason = newest.absent.get("memory_used_bytes") if newest else None
    return Seen(
        read=newest is not None and state is not None and state.present,
        holders=state.holders if state else None,
        unheld_bytes=state.unheld_bytes if state else None,
        measured=reason is not AbsentReason.NOT_SUPPORTED,
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Those who are named first, then what nobody accounts for."""
    if not seen.read:
        return ANSWERS.say("not_read")
    if seen.holders is None:
        return ANSWERS.say("holders_unknown")
    zombies = [h for h in seen.holders if h.zombie]
    left = [h for h in seen.holders if h.run_ended and not h.zombie]
    for reason, those in (("held_by_zombie", zombies), ("held_after_end", left)):
        if those:
            return _say(reason, those, seen)
    unseen = [h for h in seen.holders if h.visible is False]
    held = sum(h.memory_bytes or 0 for h in unseen) + (seen.unheld_bytes or 0)
    if held >= limits.orphaned_bytes:
        return _say("held_by_nobody", unseen, seen)
    return _say(_quiet(seen), [], seen)


def _quiet(seen: Seen) -> str:
    if any(h.visible is None for h in seen.holders or ()):
        return "holders_hidden"
    if seen.unheld_bytes is not None:
        return "accounted_for"
    return "memory_unknown" if seen.measured else "memory_not_measured"


def _say(reason: str, those: list[GpuHolder], seen: Seen) -> Verdict:
    known = [h.memory_bytes for h in those if h.memory_bytes is not None]
    runs = sorted({h.run_id for h in those if h.run_id is not None})
    pids = ", ".join(str(h.pid) for h in those)
    return ANSWERS.say(
        reason,
        f"pid {pids}" if those else "",
        f"of {', '.join(runs)}" if runs else "",
        figures={
            "holders": (len(seen.holders or ()), "1"),
            "held": (sum(known) if known else None, "bytes"),
            "unheld": (seen.unheld_bytes, "bytes"),
        },
    )


def controls(limits: Limits) -> Iterable[Control]:
    """Every way to leave memory behind, and what is no orphan."""
    edge = limits.orphaned_bytes
    little, much = round(edge * 0.99), round(edge * 1.01)
    alive, gone = CONTROL_HOLDER, GpuHolder(pid=7, memory_bytes=much, visible=False)
    yield _control("a_run_at_work", "accounted_for", unheld_bytes=0)
    yield _control("free", "accounted_for", holders=(), unheld_bytes=little)
    yield _control("nobodys", "held_by_nobody", holders=(), unheld_bytes=much)
    yield _control("beside_a_run", "held_by_nobody", unheld_bytes=much)
    yield _control("unseen_process", "held_by_nobody", holders=(gone,), unheld_bytes=0)
    small = GpuHolder(pid=7, memory_bytes=little, visible=False)
    yield _control("small_unseen_process", "accounted_for", holders=(small,), unheld_bytes=0)
    both = GpuHolder(pid=8, memory_bytes=much - little, visible=False)
    yield _control("both_together", "held_by_nobody", holders=(both,), unheld_bytes=little)
    ended = GpuHolder(pid=9, memory_bytes=1, run_id=alive.run_id, run_ended=True)
    yield _control("left_by_a_run", "held_after_end", holders=(ended,), unheld_bytes=0)
    zombie = GpuHolder(pid=9, memory_bytes=1, run_id=alive.run_id, run_ended=True, zombie=True)
    yield _control("defunct_trainer", "held_by_zombie", holders=(alive, zombie), unheld_bytes=0)
    hidden = GpuHolder(pid=7, memory_bytes=much, visible=None)
    yield _control("container", "holders_hidden", holders=(hidden,), unheld_bytes=None)
    yield _control("not_allowed", "holders_unknown", holders=None, unheld_bytes=None)
    yield _control("sum_unknown", "memory_unknown", unheld_bytes=None)
    absent = {"memory_used_bytes": AbsentReason.NOT_SUPPORTED}
    gb10 = gpu_samples(3, memory_used_bytes=None, absent=absent)
    yield _control("gb10", "memory_not_measured", gb10, unheld_bytes=None)
    left = (ended,)
    yield _control("gb10_left_by_a_run", "held_after_end", gb10, holders=left, unheld_bytes=None)
    yield _control("lost", "not_read", present=False, unheld_bytes=0)
    yield _on("never_seen", "not_read", gpu_state(unheld_bytes=0), held=())


def _control(name: str, code: str, samples: Any = None, **fields: Any) -> Control:
    return _on(name, code, gpu_state(samples or gpu_samples(3), **fields))


def _on(name: str, code: str, state: GpuState, **more: Any) -> Control:
    world = World(subject=CONTROL_GPU_SUBJECT, gpus=gpus(state, **more))
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="gpu_memory_orphaned",
        stage=Stage.WATCH,
        scope=Scope.GPU,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        # A driver gives memory back some seconds after a process has gone.
        hysteresis=Hysteresis(fire_m=3, fire_n=4, clear_k=2, floor_s=20.0, unknown_k=2),
        cadence_s=10.0,
        reads=("gpus",),
        runbook=__doc__,
    )
