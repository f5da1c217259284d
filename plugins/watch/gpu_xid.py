"""Fail when the driver reported a critical error (Xid) of a GPU.

Errors are told apart by NVIDIA's catalogue. ``fatal_error`` and ``hardware_error`` are the card's:
the first stands until the driver was loaded again, the second for a day. ``application_error`` is a
program's, stands for ten minutes, and is about the run whose process the driver named, if that is
one; the driver may name a bystander, so a program that belongs to no run is nobody's failure here.
``program_not_named``: NVML's events carry no process, so it is unknown whether it was a run's. Only
the kernel's log, or a plugin's sampler that brings the pid, tells the other two.

``not_listening``: the driver, or this very card, is not asked for errors; one that hung or crashed
its reader is held back for a while and left out, one that is gone tells nothing.

``not_heard_throughout``: for a while nobody listened, between the end of a reader and the start of
the next, or while the card was held back: what a driver tells to nobody is lost. It stands for as
long as an error of that time would, and ``pfid_gpu_xid_unheard_seconds_total`` counts it. Where the
kernel's log (/dev/kmsg) may be read, errors of such times and cards are had from there, with their
process, and nothing goes unheard.

Blind spot: only errors since pfid began to listen are known (``listened`` says since when), and
after a fatal one nothing more is read. Without the kernel's log nobody knows of errors of a card
that is held back, of one that is not fatal beside a call that never comes back, or of the up to
three seconds in which the same reader opens its driver anew. An error of the network between cards
shows up elsewhere.

When it fires: ``fatal_error``: the runs on this card are over or will hang; drain the box, reload
the driver or restart. ``hardware_error``: finish or move what runs, then reset the card; ECC errors
that come back mean another card. ``application_error``: the run's own log, and a sanitizer run.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from pfid.analysis.gpu_xids import XidClass, meaning
from pfid.domain.gpu import XIDS, AbsentReason, XidEvent
from pfid.domain.names import RunId
from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    Entity,
    EntityKind,
    Outcome,
    Scope,
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
)
from pfid.spec.fakes import CONTROL_RUN, FixedClock
from pfid.spec.fakes_gpus import (
    CONTROL_GPU,
    CONTROL_GPU_SUBJECT,
    CONTROL_UUID,
    NEWEST_S,
    gpu_state,
    gpus,
)
from pfid.spec.ports.gpus import GpuXid, SamplerFacts, SamplerProblem, Unheard

ANSWERS: Final = Answers(
    {
        "no_recent_errors": (Outcome.PASS, "the driver reported no recent error of this GPU"),
        "program_of_no_run": (Outcome.PASS, "a program that is no run of pfid failed on this GPU"),
        "fatal_error": (Outcome.FAIL, "this GPU is lost until its driver is loaded again"),
        "hardware_error": (Outcome.FAIL, "this GPU reported an error of its own"),
        "application_error": (Outcome.FAIL, "the run's program made an error on its GPU"),
        "program_not_named": (Outcome.UNKNOWN, "some program made an error on this GPU; a run's?"),
        "uncatalogued_error": (Outcome.UNKNOWN, "an error was reported that pfid does not know"),
        "not_heard_throughout": (
            Outcome.UNKNOWN,
            "for a while nobody listened for errors of this GPU",
        ),
        "not_listening": (Outcome.UNKNOWN, "nobody listens for errors of this GPU"),
        "not_seen": (Outcome.UNKNOWN, "this GPU was never seen"),
        "errors_not_told": (Outcome.NOT_APPLICABLE, "this GPU's driver tells no errors"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long an error stands.

    Attributes:
        hardware_s: one of the card's that it survived.
        application_s: one of a program's.
    """

    hardware_s: float = limit(86_400.0, unit="s", factor=1.1)
    application_s: float = limit(600.0, unit="s", factor=1.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """One error, how long ago, whether its process was named, and whose that was."""

    code: int
    age_s: float
    named: bool
    run_id: RunId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is known of this GPU's errors.

    Attributes:
        errors: those that were reported, None if it was never seen.
        listening: whether the driver can be read at all, and asks of this GPU.
        deaf: why errors of this very GPU are not told, None if they are.
        unheard: times in which nobody listened: how long ago they ended, and how long they were.
        listened_s: since when errors are listened for, None if they never were.
    """

    errors: tuple[Error, ...] | None
    listening: bool
    deaf: AbsentReason | None
    unheard: tuple[tuple[float, float], ...]
    listened_s: float | None


def observe(world: World) -> Seen:
    """Read what was reported of the GPU."""
    mine, now_s = world.gpus.mine(), world.clock.now_s()
    xids = mine[0].xids if mine else ()
    errors = tuple(
        Error(
            code=x.event.code,
            age_s=now_s - x.event.at_s,
            named=x.event.pid is not None,
            run_id=x.run_id,
        )
        for x in xids
    )
    asked = world.gpus.sampler().problem is SamplerProblem.NONE
    return Seen(
        errors=errors if mine else None,
        listening=asked and mine[0].present if mine else False,
        deaf=mine[0].facts.absent.get(XIDS) if mine else None,
        unheard=tuple((now_s - u.until_s, u.for_s) for u in mine[0].unheard) if mine else (),
        listened_s=now_s - since_s if mine and (since_s := mine[0].listened_s) else None,
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Let the worst error that still stands speak."""
    if seen.errors is None:
        return ANSWERS.say("not_seen")
    standing = {_reason(e, limits): e for e in seen.errors}  # the newest of its kind
    for reason in _WORST_FIRST:
        if reason in standing:
            return _say(reason, standing[reason], seen.errors)
    if seen.deaf is AbsentReason.NOT_SUPPORTED:
        return ANSWERS.say("errors_not_told")
    if not seen.listening or seen.deaf is not None or seen.listened_s is None:
        return ANSWERS.say("not_listening")
    return _quiet(seen, limits)


def _quiet(seen: Seen, limits: Limits) -> Verdict:
    """Nothing was told: was there always somebody to tell it to?"""
    known = {"listened": (seen.listened_s or 0.0, "s")}
    recent = [each for each in seen.unheard if each[0] <= limits.hardware_s]
    if not recent:
        return ANSWERS.say("no_recent_errors", figures=known)
    ago_s, lengths = min(ago for ago, _ in recent), [length for _, length in recent]
    told = {"unheard": (sum(lengths), "s"), "times": (len(recent), "1"), "ago": (ago_s, "s")}
    return ANSWERS.say("not_heard_throughout", figures=told | known)


_WORST_FIRST: Final = (
    "fatal_error",
    "hardware_error",
    "application_error",
    "uncatalogued_error",
    "program_not_named",
    "program_of_no_run",
)


def _reason(error: Error, limits: Limits) -> str:
    """Reason code of an error that still stands, "" for one that does not."""
    known = meaning(error.code)
    if known is not None and known.kind is XidClass.FATAL:
        return "fatal_error"
    if known is None or known.kind is XidClass.HARDWARE:
        code = "uncatalogued_error" if known is None else "hardware_error"
        return code if error.age_s <= limits.hardware_s else ""
    if known.kind is XidClass.FOLLOW_UP or error.age_s > limits.application_s:
        return ""
    if error.run_id is not None:
        return "application_error"
    return "program_of_no_run" if error.named else "program_not_named"


def _say(reason: str, error: Error, errors: tuple[Error, ...]) -> Verdict:
    known, run_id = meaning(error.code), error.run_id
    about_run = reason == "application_error" and run_id is not None
    return ANSWERS.say(
        reason,
        f"Xid {error.code}" + (f", {known.means}" if known else ""),
        figures={
            "xid": (error.code, "1"),
            "age": (error.age_s, "s"),
            "reported": (sum(e.code == error.code for e in errors), "1"),
        },
        entity=Entity(EntityKind.RUN, run_id or "") if about_run else None,
    )


def controls(limits: Limits) -> Iterable[Control]:
    """Each class, each limit from both sides, and errors that are nobody's."""
    yield _control("quiet", "no_recent_errors")
    yield _control("fell_off_the_bus", "fatal_error", _xid(79, 10 * limits.hardware_s))
    stopped = SamplerFacts(problem=SamplerProblem.FATAL_XID, since_success_s=1e4)
    yield _control("nothing_read_since", "fatal_error", _xid(119, 5.0), how=stopped)
    for name, share, code in (
        ("recent", 0.99, "hardware_error"),
        ("old", 1.01, "no_recent_errors"),
    ):
        yield _control(f"{name}_ecc", code, _xid(48, limits.hardware_s * share))
    mine = CONTROL_RUN.run_id
    ours = _xid(31, limits.application_s * 0.99, run_id=mine)
    about_run = Entity(EntityKind.RUN, mine)
    yield _control("page_fault_of_a_run", "application_error", ours, entity=about_run)
    old = _xid(31, limits.application_s * 1.01, run_id=mine)
    yield _control("page_fault_long_ago", "no_recent_errors", old)
    yield _control("page_fault_of_a_bystander", "program_of_no_run", _xid(31, 5.0))
    unnamed = _xid(31, limits.application_s * 0.99, pid=None)
    yield _control("page_fault_of_somebody", "program_not_named", unnamed)
    late = _xid(31, limits.application_s * 1.01, pid=None)
    yield _control("page_fault_of_somebody_long_ago", "no_recent_errors", late)
    yield _control("clean_up_only", "no_recent_errors", _xid(45, 5.0, run_id=mine))
    yield _control("card_and_program", "hardware_error", _xid(94, 5.0), ours)
    yield _control("code_from_the_future", "uncatalogued_error", _xid(999, 5.0))
    yield _control("code_of_long_ago", "no_recent_errors", _xid(999, limits.hardware_s * 1.01))
    hung = SamplerFacts(problem=SamplerProblem.HUNG, since_success_s=100.0)
    yield _control("nothing_can_be_asked", "not_listening", how=hung)
    yield _control("after_a_fatal_error_of_another", "not_listening", how=stopped)
    yield _control("gone_or_held_back", "not_listening", present=False)
    yield _control("told_and_gone", "hardware_error", _xid(48, 5.0), present=False)
    yield _control("never_listened_to", "not_listening", listened_s=None)
    yield _control("deaf", "not_listening", deaf=AbsentReason.LOST)
    yield _control("tells_no_errors", "errors_not_told", deaf=AbsentReason.NOT_SUPPORTED)
    for name, share, code in (
        ("recent", 0.99, "not_heard_throughout"),
        ("old", 1.01, "no_recent_errors"),
    ):
        gap = Unheard(until_s=NEWEST_S - limits.hardware_s * share, for_s=20.0)
        yield _control(f"{name}_gap", code, unheard=(gap,))
    gap = Unheard(until_s=NEWEST_S - 5.0, for_s=20.0)
    yield _control("gap_and_error", "hardware_error", _xid(48, 5.0), unheard=(gap,))
    yield _control("gap_and_deaf", "not_listening", unheard=(gap,), deaf=AbsentReason.LOST)
    told = _xid(48, 5.0)
    yield _control("told_before", "hardware_error", told, deaf=AbsentReason.LOST)
    yield _control("no_such_card", "not_seen", held=())


def _xid(code: int, age_s: float, pid: int | None = 4242, **more: Any) -> GpuXid:
    event = XidEvent(uuid=CONTROL_UUID, code=code, at_s=NEWEST_S - age_s, pid=pid)
    return GpuXid(event=event, **more)


def _control(
    name: str, code: str, *xids: GpuXid, entity: Entity | None = None, **more: Any
) -> Control:
    deaf, present = more.pop("deaf", None), more.pop("present", True)
    known = {name: more.pop(name) for name in ("unheard", "listened_s") if name in more}
    facts = replace(CONTROL_GPU, absent={XIDS: deaf} if deaf else {})
    world = World(
        subject=CONTROL_GPU_SUBJECT,
        clock=FixedClock(wall_s=NEWEST_S),
        gpus=gpus(gpu_state(xids=xids, facts=facts, present=present, **known), **more),
    )
    return Control(name=name, world=world, expect=ANSWERS.reasons[code], reason=code, entity=entity)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="gpu_xid",
        stage=Stage.WATCH,
        scope=Scope.GPU,
        severity=Severity.CRITICAL,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        cadence_s=15.0,  # an error makes it due at once; only its age comes by itself
        reads=("clock", "gpus"),
        runbook=__doc__,
    )
