"""Fail when a run has ended and nobody said it should.

Fails on a non-zero exit, a signal, an OOM kill, an end nobody saw or whose status the kernel does
not tell, and a host that went down. A defunct process (zombie) has ended, whatever ``kill -0``
says. A normal end, an operator's ``pfid stop`` and the scheduler's own end are no crash; each has
its own reason. A launcher that starts the next attempt does not undo the failure of this one.

Blind spot: the process is what was captured at launch. A program that hands its work to a service
outside its own process tree and exits with 0 looks finished here. An exit status that the program
forged (0 after an exception it swallowed) is believed.

When it fires: ``pfid show RUN`` names the first death in the tree, which is often not the process
that was captured; the log of this attempt holds the rest. ``oom_killed`` means the host's memory,
not the GPU's. ``status_unknown``: older kernels tell the status only to the parent; start the run
with ``pfid run``. If GPU memory is still held, find the holder before the relaunch.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from pfid.domain.run import EndKind, FirstDeath, OperatorStop, RunEnd
from pfid.formats.run_end import clauses, figures
from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    Outcome,
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
    reported,
)
from pfid.spec.fakes import run_world

ANSWERS: Final = Answers(
    {
        "running": (Outcome.PASS, "the captured process is alive"),
        "ended_normally": (Outcome.PASS, "the run ended with exit status 0"),
        "stopped_by_operator": (Outcome.PASS, "an operator stopped the run"),
        "scheduler_time_limit": (Outcome.PASS, "the scheduler ended the run at its time limit"),
        "scheduler_cancelled": (Outcome.PASS, "the run was cancelled in the scheduler"),
        "exited_nonzero": (Outcome.FAIL, "the run exited with an error"),
        "killed_by_signal": (Outcome.FAIL, "a signal killed the run"),
        "oom_killed": (Outcome.FAIL, "the kernel killed the run for memory"),
        "ended_unobserved": (Outcome.FAIL, "the run ended while nobody watched"),
        "status_unknown": (Outcome.FAIL, "the run ended and its exit status is not known"),
        "host_lost": (Outcome.FAIL, "the run was lost with its host"),
        "identity_unknown": (Outcome.UNKNOWN, "whether the captured process lives is not known"),
    }
)
BY_KIND: Final = {
    EndKind.OOM_KILLED: "oom_killed",
    EndKind.OPERATOR_STOP: "stopped_by_operator",
    EndKind.SCHEDULER_LIMIT: "scheduler_time_limit",
    EndKind.SCHEDULER_CANCEL: "scheduler_cancelled",
    EndKind.UNOBSERVED: "ended_unobserved",
    EndKind.HOST_LOST: "host_lost",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far a stop reaches: a failed one must not excuse a crash a day later.

    Attributes:
        stop_valid_s: a stop explains an end up to this long after it; time for a last checkpoint.
    """

    stop_valid_s: float = limit(3600.0, unit="s", factor=1.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How the captured process stands."""

    alive: bool | None
    defunct: bool
    end: RunEnd | None
    stop: OperatorStop | None
    restarts: bool = reported()


def observe(world: World) -> Seen:
    """Read what is known of the captured process."""
    facts = world.run.facts()
    restarts = facts.launcher_restarts
    return Seen(
        alive=facts.alive, defunct=facts.defunct, end=facts.end, stop=facts.stop, restarts=restarts
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Name the end, if there is one."""
    if seen.end is not None:
        code = _ended(seen.end, seen.stop, limits)
    elif seen.defunct or seen.alive is False:
        code = "stopped_by_operator" if seen.stop else "status_unknown"
    else:
        code = "running" if seen.alive else "identity_unknown"
    failed = ANSWERS.reasons[code] is Outcome.FAIL
    return ANSWERS.say(
        code,
        *clauses(seen.end),
        "its parent had not collected it yet (defunct)" if seen.defunct else "",
        "its launcher starts another attempt" if failed and seen.restarts else "",
        figures=figures(seen.end),
    )


def _ended(end: RunEnd, stop: OperatorStop | None, limits: Limits) -> str:
    explained = stop is not None and 0 <= end.at_s - stop.at_s <= limits.stop_valid_s
    if end.kind is EndKind.OPERATOR_STOP and not explained:
        return _by_status(end)
    if explained and end.kind not in BY_KIND and end.exit_code != 0:
        return "stopped_by_operator"
    return BY_KIND.get(end.kind) or _by_status(end)


def _by_status(end: RunEnd) -> str:
    if end.signal is not None:
        return "killed_by_signal"
    if end.exit_code is None:
        return "status_unknown"
    return "exited_nonzero" if end.exit_code else "ended_normally"


AT_S: Final = 1_788_003_000.0
WORKER_DIED: Final = FirstDeath(
    pid=4250, comm="python", exit_code=None, signal=9, at_s=AT_S - 2, is_root=False
)


def controls(limits: Limits) -> Iterable[Control]:
    """Every way to end, and a stop just inside and just outside its reach."""
    ends = RunEnd(kind=EndKind.EXITED, exit_code=1, signal=None, at_s=AT_S)
    lost = replace(ends, exit_code=None)
    killed = replace(ends, kind=EndKind.SIGNALED, exit_code=None, signal=9)
    stopped = replace(killed, kind=EndKind.OPERATOR_STOP, signal=15)
    recent = _stop(AT_S - limits.stop_valid_s * 0.99)
    old = _stop(AT_S - limits.stop_valid_s * 1.01)
    yield _control("alive", "running", alive=True)
    yield _control("exit_0", "ended_normally", end=replace(ends, exit_code=0))
    yield _control("exit_1", "exited_nonzero", end=ends)
    yield _control("worker_first", "exited_nonzero", end=replace(ends, first_death=WORKER_DIED))
    yield _control("relaunching", "exited_nonzero", end=ends, launcher_restarts=True)
    yield _control("sigkill", "killed_by_signal", end=killed)
    yield _control("oom", "oom_killed", end=replace(killed, kind=EndKind.OOM_KILLED))
    yield _control("stop", "stopped_by_operator", end=stopped, stop=recent)
    yield _control("stop_then_kill", "stopped_by_operator", end=killed, stop=recent)
    yield _control("stop_long_ago", "killed_by_signal", end=stopped, stop=old)
    for kind, code in BY_KIND.items():
        if "scheduler" in code:
            yield _control(code, code, end=replace(killed, kind=kind))
    yield _control("unseen", "ended_unobserved", end=replace(lost, kind=EndKind.UNOBSERVED))
    yield _control("no_status", "status_unknown", end=replace(lost, kind=EndKind.UNKNOWN_STATUS))
    yield _control("reboot", "host_lost", end=replace(lost, kind=EndKind.HOST_LOST))
    yield _control("zombie", "status_unknown", alive=False, defunct=True)
    yield _control("zombie_that_answers", "status_unknown", alive=True, defunct=True)
    yield _control("vanished", "status_unknown", alive=False)
    yield _control("cannot_tell", "identity_unknown", alive=None)


def _stop(at_s: float) -> OperatorStop:
    return OperatorStop(uid=1000, username="control", why="", at_s=at_s)


def _control(name: str, code: str, **facts: Any) -> Control:
    world = run_world(**{"alive": "end" not in facts, **facts})
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="run_gone",
        stage=Stage.WATCH,
        severity=Severity.CRITICAL,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        cadence_s=1.0,
        reads=("run",),
        runbook=__doc__,
    )
