"""Fail when a run has stood still for much longer than it ever does.

A sign of progress is a step, or a change of phase. The time allowed since the last one is this
run's own longest gap times a factor, phase by phase, and never less than the phase's floor: the
first compile, an evaluation, a checkpoint and the skipping of data on resume have clocks of their
own, and a long one of them excuses nothing in training. While the log still grows, the time
allowed is longer: two signs are better than one. A process that somebody stopped (state T) is its
own reason.

Blind spot: a run that prints steps without making any looks alive, and one whose log pfid cannot
read (``no_step_source``) cannot be seen to stall at all. A pause that no log line names counts as
training: the first one beyond the floor fires.

When it fires: ``pfid show RUN``. All ranks at 100 % utilisation and low power are a hung
collective; one missing rank is ``run_gone``; state D is a dead mount or a driver. ``suspended``:
``kill -CONT`` it, or ask who stopped it. If the pause is ordinary, let the log name its phase or
raise the floor (``[checks.run_stalled.limits]``).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from pfid.domain.run import EndKind, RunEnd, RunState
from pfid.domain.step import Phase
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
)
from pfid.spec.fakes import FixedSteps, moving, run_world
from pfid.spec.ports.steps import Progress

ANSWERS: Final = Answers(
    {
        "moving": (Outcome.PASS, "the run moves"),
        "suspended_briefly": (Outcome.PASS, "the run has just been suspended (state T)"),
        "stalled": (Outcome.FAIL, "the run has made no progress for longer than it ever does"),
        "no_first_step": (Outcome.FAIL, "the run fell silent before its first step"),
        "suspended": (Outcome.FAIL, "the run is suspended (state T): somebody stopped it"),
        "no_steps_yet": (Outcome.UNKNOWN, "no step has been seen yet"),
        "no_step_source": (Outcome.UNKNOWN, "neither log nor step file shows steps of this run"),
        "ended": (Outcome.NOT_APPLICABLE, "the run has ended"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Floors by phase, in seconds, and how far beyond its own longest gap a run may go.

    Attributes:
        factor: times the longest gap of the phase (NVRx uses 5 too).
        noisy_factor: times the time allowed while the log still grows.
        train_s: floor between two steps; NCCL's own time-out is as long.
        start_s: floor before the first step, and before a second one has shown a gap.
        eval_s: floor of an evaluation.
        save_s: floor of a checkpoint.
        skip_s: floor of skipping data on resume.
        suspended_s: how long a run may stand in state T.
    """

    factor: float = limit(5.0, unit="ratio", factor=1.1)
    noisy_factor: float = limit(3.0, unit="ratio", factor=1.1)
    train_s: float = limit(600.0, unit="s", factor=1.1)
    start_s: float = limit(3600.0, unit="s", factor=1.1)
    eval_s: float = limit(7200.0, unit="s", factor=1.1)
    save_s: float = limit(1800.0, unit="s", factor=1.1)
    skip_s: float = limit(21600.0, unit="s", factor=1.1)
    suspended_s: float = limit(60.0, unit="s", factor=1.1)

    def floor_s(self, phase: Phase) -> float:
        """Return the floor of ``phase``."""
        return {
            Phase.TRAIN: self.train_s,
            Phase.COMPILE: self.start_s,
            Phase.EVAL: self.eval_s,
            Phase.RESUME_SKIP: self.skip_s,
        }.get(phase, self.save_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How the run moves.

    ``since_s`` is None if neither log nor step file can be read, ``suspended_s`` if nobody stopped
    it.
    """

    ended: bool
    suspended_s: float | None
    since_s: float | None
    phase: Phase
    steps: int
    longest_s: float | None
    log_growing: bool | None


def observe(world: World) -> Seen:
    """Read state and progress."""
    facts, moves = world.run.facts(), world.steps.progress()
    phase = moves.phase if moves else Phase.TRAIN
    return Seen(
        ended=facts.end is not None,
        suspended_s=facts.suspended_s,
        since_s=moves.since_progress_s if moves else None,
        phase=phase,
        steps=moves.steps_seen if moves else 0,
        longest_s=moves.longest_gap_s.get(phase) if moves else None,
        log_growing=moves.log_growing if moves else None,
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Compare the gap the run is in with what its phase is allowed."""
    allowed_s = _allowed_s(seen, limits)
    figures = {
        "since_progress": (seen.since_s, "s"),
        "allowed": (allowed_s, "s"),
        "longest_gap": (seen.longest_s, "s"),
    }
    return ANSWERS.say(_code(seen, allowed_s, limits), _where(seen), figures=figures)


def _where(seen: Seen) -> str:
    """Before its first step a run is only taken to compile."""
    untold = seen.phase is Phase.COMPILE and not seen.steps
    return "before its first step" if untold else f"phase {seen.phase.value}"


def _allowed_s(seen: Seen, limits: Limits) -> float:
    if seen.steps and seen.phase is Phase.TRAIN and seen.longest_s is None:
        floor_s = max(limits.start_s, limits.train_s)
    else:
        floor_s = limits.floor_s(seen.phase)
    own_s = (seen.longest_s or 0.0) * limits.factor
    return max(floor_s, own_s) * (limits.noisy_factor if seen.log_growing else 1.0)


def _code(seen: Seen, allowed_s: float, limits: Limits) -> str:
    if seen.ended:
        return "ended"
    if seen.suspended_s is not None:
        return "suspended_briefly" if seen.suspended_s <= limits.suspended_s else "suspended"
    if seen.since_s is None:
        return "no_step_source"
    if seen.steps:
        return "stalled" if seen.since_s > allowed_s else "moving"
    if seen.since_s <= allowed_s:
        return "no_steps_yet"
    return "no_first_step" if seen.log_growing is False else "no_step_source"


def controls(limits: Limits) -> Iterable[Control]:
    """Each clock just inside and just outside, and what must not be taken for a stall."""
    for phase in (Phase.TRAIN, Phase.EVAL, Phase.CHECKPOINT, Phase.RESUME_SKIP):
        edge_s = limits.floor_s(phase)
        yield _at(f"{phase.value}_in_time", "moving", edge_s * 0.99, phase=phase)
        yield _at(f"{phase.value}_too_long", "stalled", edge_s * 1.01, phase=phase)
    edge_s = 2 * limits.train_s
    own = {Phase.TRAIN: edge_s / limits.factor, Phase.EVAL: 10 * edge_s}
    yield _at("slow_steps_by_nature", "moving", edge_s * 0.99, longest_gap_s=own)
    yield _at("longer_than_its_own", "stalled", edge_s * 1.01, longest_gap_s=own)
    edge_s = limits.train_s * limits.noisy_factor
    yield _at("log_still_grows", "moving", edge_s * 0.99, log_growing=True)
    yield _at("log_grows_and_no_step", "stalled", edge_s * 1.01, log_growing=True)
    yield _at("second_step_not_yet", "moving", limits.start_s * 0.99, longest_gap_s={})
    start = {"phase": Phase.COMPILE, "steps_seen": 0, "last_index": None, "longest_gap_s": {}}
    yield _at("first_compile", "no_steps_yet", limits.start_s * 0.99, **start)
    yield _at("hung_at_start", "no_first_step", limits.start_s * 1.01, **start)
    quiet = {**start, "log_growing": None}
    yield _at("never_said_a_word", "no_step_source", limits.start_s * 1.01, **quiet)
    yield _world("nothing_readable", "no_step_source", None)
    slow = moving(since_progress_s=limits.suspended_s * 2)
    for code, stopped_s in (
        ("suspended_briefly", limits.suspended_s * 0.99),
        ("suspended", limits.suspended_s * 1.01),
    ):
        stopped = {"state": RunState.SUSPENDED, "suspended_s": stopped_s}
        yield _world(f"{code}_in_a_slow_step", code, slow, **stopped)
        yield _world(f"{code}_and_no_log", code, None, **stopped)
    end = RunEnd(kind=EndKind.EXITED, exit_code=0, signal=None, at_s=0.0)
    yield _world("over", "ended", moving(since_progress_s=1e6), end=end)


def _at(name: str, code: str, since_s: float, **progress: Any) -> Control:
    moves = moving(**{"since_progress_s": since_s, "log_growing": False, **progress})
    return _world(name, code, moves)


def _world(name: str, code: str, moves: Progress | None, **facts: Any) -> Control:
    world = replace(run_world(**facts), steps=FixedSteps(moves=moves))
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="run_stalled",
        stage=Stage.WATCH,
        severity=Severity.CRITICAL,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        cadence_s=5.0,
        reads=("run", "steps"),
        runbook=__doc__,
    )
