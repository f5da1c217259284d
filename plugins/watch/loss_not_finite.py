"""Fail when the loss is NaN, infinite or exactly 0.0 for several logged steps.

Such a run looks alive in everything else: steps come, the GPU is busy, nothing raises. Of the last
6 logged losses 3 must be bad, so that one skipped step (a loss scale that overflowed) passes and
every other one being bad does not. It passes again when the losses do. Where the ranks of a run
write into one log, a step counts as bad once more if it is so on any of them.

The step file counts beside the log: HF Trainer's ``logging_nan_inf_filter`` (on by default)
replaces bad losses by the running mean before they are logged.

Blind spot: a loss that is finite and wrong, and a filtered log with no step file beside it. A run
that logs no loss where pfid can see it is UNKNOWN: training has a loss, it just cannot be looked
at.

When it fires: stop the run, each further step trains on nothing. Look at the steps before the
first bad loss: learning rate, a corrupt batch, fp16 overflow. Exactly 0.0 often means that every
label is masked.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

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
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog, FixedSteps, step_series
from pfid.spec.ports.log import LogFacts, LossSeen

LOSSES: Final = 64
ANSWERS: Final = Answers(
    {
        "finite": (Outcome.PASS, "the logged losses are numbers"),
        "not_finite": (Outcome.FAIL, "the loss is NaN or infinite"),
        "zero": (Outcome.FAIL, "the loss is exactly zero"),
        "no_loss_logged": (Outcome.UNKNOWN, "no loss has been logged where it can be seen"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many logged losses must be bad.

    Attributes:
        bad: so many of the last ``2 * bad``.
    """

    bad: int = limit(3, unit="steps", delta=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The last losses of the log, and those of the step file, oldest first."""

    logged: tuple[float, ...]
    reported: tuple[float, ...]


def observe(world: World) -> Seen:
    """Read the losses of both."""
    facts = world.log.facts()
    reported = (e.loss for e in world.steps.recent(LOSSES) if e.loss is not None)
    return Seen(
        logged=tuple(seen.value for seen in facts.losses) if facts else (),
        reported=tuple(reported),
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Count bad losses among the newest; the step file speaks where the log does not, or lies."""
    verdict = _counted(seen.logged or seen.reported, limits)
    if seen.logged and verdict.outcome is Outcome.PASS:
        inside = _counted(seen.reported, limits)
        # Exactly 0.0 is what a rank reports that has no loss of its own; the log's is the run's.
        return inside if inside.reason == "not_finite" else verdict
    return verdict


def _counted(losses: Sequence[float], limits: Limits) -> Verdict:
    newest = losses[-2 * limits.bad :]
    infinite = sum(not math.isfinite(loss) for loss in newest)
    zero = sum(loss == 0.0 for loss in newest)
    code = "finite"
    if not newest:
        code = "no_loss_logged"
    elif infinite + zero >= limits.bad:
        code = "zero" if zero > infinite else "not_finite"
    figures = {"not_finite": (infinite, "steps"), "zero": (zero, "steps")}
    return ANSWERS.say(code, figures={**figures, "logged": (len(newest), "steps")})


def controls(limits: Limits) -> Iterable[Control]:
    """One bad loss too few and just enough, of each kind, in a row and every other one."""
    good, bad = [2.31, 2.29, 2.3, 2.27] * 4, limits.bad
    yield _control("falling", "finite", good)
    yield _control("one_skipped", "finite", [*good, math.nan, *good[: bad - 1]])
    yield _control("one_too_few", "finite", [*good, *[math.nan] * (bad - 1)])
    yield _control("nan", "not_finite", [*good, *[math.nan] * bad])
    yield _control("infinite", "not_finite", [*good, *[-math.inf] * bad])
    yield _control("every_other", "not_finite", [*good, *[math.nan, 2.3] * bad])
    yield _control("zero", "zero", [*good, *[0.0] * bad])
    yield _control("healed", "finite", [*[math.nan] * 30, *good[: 2 * bad]])
    yield _control("tiny", "finite", [1e-12] * 20)
    yield _control("silent", "no_loss_logged", [])
    broken = [*good, *[math.nan] * bad]
    yield _control("step_file", "not_finite", None, broken)
    yield _control("step_file_falling", "finite", None, good)
    yield _control("filtered_in_the_log", "not_finite", good, broken)
    yield _control("healed_in_the_step_file_alone", "not_finite", broken, good)
    yield _control("rank_without_a_loss", "finite", good, [0.0] * 20)


def _control(
    name: str, code: str, logged: Sequence[float] | None, reported: Sequence[float] = ()
) -> Control:
    told = tuple(LossSeen(index=i, value=v) for i, v in enumerate(logged or ()))
    events = tuple(
        replace(e, loss=loss)
        for e, loss in zip(step_series((1.0,) * len(reported)), reported, strict=True)
    )
    world = World(
        subject=CONTROL_SUBJECT,
        steps=FixedSteps(events=events),
        log=FixedLog(log_facts=None if logged is None else LogFacts(losses=told)),
    )
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="loss_not_finite",
        stage=Stage.WATCH,
        severity=Severity.CRITICAL,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        cadence_s=5.0,
        reads=("log", "steps"),
        runbook=__doc__,
    )
