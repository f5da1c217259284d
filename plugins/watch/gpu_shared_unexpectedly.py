"""Fail when another user's process works on a GPU of this run.

It takes memory and time, and makes steps slow in a way that no log explains. A process of the same
user is no surprise and passes, said so. Displays and monitors are no neighbours: processes that
only draw, and those below the memory limit.

Blind spot: a neighbour that the driver does not list, or lists under the number of another
namespace; in a container nothing can be told. Under MIG the card is shared on purpose.

When it fires: ``pfid gpus`` names user and pid. Talk to them, or relaunch on another GPU
(``CUDA_VISIBLE_DEVICES``); pfid ends nobody's process.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from pfid.analysis.gpu_presence import gpus_exist
from pfid.domain.names import RunId
from pfid.domain.run import EndKind, RunEnd
from pfid.formats.untrusted import printable
from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    Hysteresis,
    Outcome,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
)
from pfid.spec.fakes import CONTROL_RUN, CONTROL_SUBJECT, run_world
from pfid.spec.fakes_gpus import CONTROL_GPU, CONTROL_HOLDER, gpu_samples, gpu_state, gpus
from pfid.spec.ports.gpus import GpuHolder, GpuState

NAME_CHARS: Final = 32
ANSWERS: Final = Answers(
    {
        "alone": (Outcome.PASS, "nobody else works on the GPUs of this run"),
        "own_neighbour": (Outcome.PASS, "another process of the same user is on a GPU of this run"),
        "other_user": (Outcome.FAIL, "another user's process works on a GPU of this run"),
        "neighbour_unknown": (Outcome.UNKNOWN, "whose process is on a GPU of this run is open"),
        "holders_unknown": (Outcome.UNKNOWN, "who is on the GPUs of this run cannot be read"),
        "in_a_container": (
            Outcome.UNKNOWN,
            "pfid runs in a container, where the driver's process numbers mean others",
        ),
        "mig_shares_the_card": (Outcome.NOT_APPLICABLE, "under MIG the card is shared on purpose"),
        "no_gpu": (Outcome.NOT_APPLICABLE, "the run is on no GPU"),
        "ended": (Outcome.NOT_APPLICABLE, "the run has ended"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much memory makes a neighbour; a monitor holds less."""

    neighbour_bytes: int = limit(256 * 1024**2, unit="bytes", factor=1.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The run's GPUs and everybody on them.

    Attributes:
        ended: whether the run has.
        uid: its user.
        run_id: its id.
        gpus_exist: whether the box has any.
        cards: the run's, without those that MIG divides; None if that cannot be told.
        apart: whether that is because pfid runs in a container.
        divided: how many MIG divides.
    """

    ended: bool
    uid: int
    run_id: RunId
    gpus_exist: bool
    cards: tuple[GpuState, ...] | None
    apart: bool
    divided: int


def observe(world: World) -> Seen:
    """Read who is on the run's GPUs."""
    facts, mine = world.run.facts(), world.gpus.mine()
    return Seen(
        ended=facts.end is not None,
        uid=facts.run.uid,
        run_id=facts.run.run_id,
        gpus_exist=gpus_exist(world.gpus),
        cards=None if mine is None else tuple(s for s in mine if not s.facts.mig),
        apart=any(state.foreign_pids for state in world.gpus.all()),
        divided=sum(bool(s.facts.mig) for s in mine or ()),
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Say who else is there; the stranger speaks before the one nobody knows."""
    if seen.ended:
        return ANSWERS.say("ended")
    if seen.cards is None:
        why = "in_a_container" if seen.apart else "holders_unknown"
        return ANSWERS.say(why if seen.gpus_exist else "no_gpu")
    if not seen.cards:
        return ANSWERS.say("mig_shares_the_card" if seen.divided else "no_gpu")
    others = [(s, h) for s in seen.cards for h in s.holders or () if _beside(h, seen, limits)]
    kinds = [_kind(h, seen.uid) for _, h in others]
    if any(s.holders is None for s in seen.cards):
        kinds.append("holders_unknown")
    reason = min(kinds, key=_WORST_FIRST.index, default="alone")
    those = [o for o, kind in zip(others, kinds, strict=False) if kind == reason]
    return ANSWERS.say(reason, *_clauses(those), figures=_figures(seen.cards, those))


_WORST_FIRST: Final = ("other_user", "neighbour_unknown", "holders_unknown", "own_neighbour")


def _beside(holder: GpuHolder, seen: Seen, limits: Limits) -> bool:
    """Whether it is no part of the run, and large enough to work or of unknown size."""
    if holder.graphics or holder.run_id == seen.run_id:
        return False
    return holder.memory_bytes is None or holder.memory_bytes >= limits.neighbour_bytes


def _kind(holder: GpuHolder, uid: int) -> str:
    if not holder.visible or holder.uid is None:
        return "neighbour_unknown"
    if holder.uid == uid:
        return "own_neighbour"
    return "neighbour_unknown" if holder.memory_bytes is None else "other_user"


def _clauses(those: list[tuple[GpuState, GpuHolder]]) -> list[str]:
    numbers = sorted({s.facts.index for s, _ in those})
    names = sorted({printable(h.username, NAME_CHARS) for _, h in those if h.username})
    pids = sorted({h.pid for _, h in those})
    return [
        f"GPU {', '.join(map(str, numbers))}" if numbers else "",
        f"user {', '.join(names)}" if names else "",
        f"pid {', '.join(map(str, pids))}" if pids else "",
    ]


def _figures(
    cards: tuple[GpuState, ...], those: list[tuple[GpuState, GpuHolder]]
) -> dict[str, tuple[float | None, str]]:
    known = [h.memory_bytes for _, h in those if h.memory_bytes is not None]
    return {
        "gpus": (len(cards), "1"),
        "neighbours": (len(those), "1"),
        "memory": (sum(known) if known else None, "bytes"),
    }


def controls(limits: Limits) -> Iterable[Control]:
    """Neighbours of every kind, and who is none."""
    edge = limits.neighbour_bytes
    other = GpuHolder(pid=77, memory_bytes=round(edge * 1.01), uid=1001, username="other")
    own = replace(other, uid=CONTROL_RUN.uid, username=CONTROL_RUN.username)
    yield _control("alone", "alone")
    yield _control("stranger", "other_user", other)
    yield _control("monitor", "alone", replace(other, memory_bytes=round(edge * 0.99), uid=0))
    yield _control("display", "alone", replace(other, graphics=True, uid=0))
    yield _control("same_user", "own_neighbour", own)
    yield _control("another_run_of_the_user", "own_neighbour", replace(own, run_id=RunId("other")))
    yield _control("strangers_run", "other_user", replace(other, run_id=RunId("theirs")), own)
    yield _control("size_not_told", "neighbour_unknown", replace(other, memory_bytes=None))
    hidden = replace(other, visible=None, uid=None, username="")
    yield _control("container", "neighbour_unknown", hidden)
    yield _control("nobody_visible", "neighbour_unknown", replace(hidden, visible=False), own)
    two = (_state(), _state(other))
    yield _on("on_the_second_card", "other_user", *two)
    unread = gpu_state(gpu_samples(1), holders=None)
    yield _on("one_card_unreadable", "holders_unknown", _state(own), unread)
    yield _on("unreadable_beside_a_stranger", "other_user", _state(other), unread)
    yield _on("cannot_tell_which", "holders_unknown", _state(), held=None)
    apart = replace(_state(), foreign_pids=True)
    yield _on("in_a_container", "in_a_container", apart, held=None)
    yield _on("on_none", "no_gpu", _state(), held=())
    yield _on("box_without_gpus", "no_gpu", held=None, counted=None)
    mig = gpu_state(gpu_samples(1), facts=replace(CONTROL_GPU, mig=True), holders=(other,))
    yield _on("divided_by_mig", "mig_shares_the_card", mig)
    root = replace(CONTROL_RUN, uid=other.uid or 0)
    yield _on("of_the_other_user", "own_neighbour", _state(other), run=run_world(run=root))
    renamed = replace(CONTROL_RUN, run_id=RunId("renamed"))
    yield _on("not_of_this_run", "own_neighbour", _state(), run=run_world(run=renamed))
    end = RunEnd(kind=EndKind.EXITED, exit_code=0, signal=None, at_s=0.0)
    yield _on("over", "ended", _state(other), run=run_world(end=end))


def _control(name: str, code: str, *others: GpuHolder) -> Control:
    return _on(name, code, _state(*others))


def _state(*others: GpuHolder) -> GpuState:
    return gpu_state(gpu_samples(1), holders=(CONTROL_HOLDER, *others))


def _on(name: str, code: str, *states: GpuState, **more: Any) -> Control:
    run: World = more.pop("run", run_world())
    world = World(subject=CONTROL_SUBJECT, run=run.run, gpus=gpus(*states, **more))
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="gpu_shared_unexpectedly",
        stage=Stage.WATCH,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        hysteresis=Hysteresis(fire_m=2, fire_n=3, clear_k=2, floor_s=20.0, unknown_k=2),
        cadence_s=15.0,
        reads=("run", "gpus"),
        runbook=__doc__,
    )
