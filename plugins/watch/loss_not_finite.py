"""Fail when the loss is NaN, infinite or exactly 0.0 for several logged steps.

Such a run looks alive in everything else: steps come, the GPU is busy, nothing raises. Of the last
6 logged losses 3 must be bad, so that one skipped step (a loss scale that overflowed) passes and
every other one being bad does not. It passes again when the losses do.

Blind spot: a loss that is finite and wrong. HF Trainer's ``logging_nan_inf_filter`` (on by default)
replaces bad losses by the running mean before they are logged. A run that logs no loss where pfid
can see it is UNKNOWN: training has a loss, it just cannot be looked at.

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
    """The last logged losses, oldest first."""

    losses: tuple[float, ...]


def observe(world: World) -> Seen:
    """Read the log's losses, or those of the step file where the log has none."""
    facts = world.log.facts()
    losses = tuple(seen.value for seen in facts.losses) if facts else ()
    if not losses:
        losses = tuple(e.loss for e in world.steps.recent(LOSSES) if e.loss is not None)
    return Seen(losses=losses)


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Count bad losses among the newest."""
    newest = seen.losses[-2 * limits.bad :]
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
    yield _control("step_file", "not_finite", [*good, *[math.nan] * bad], in_log=False)
    yield _control("step_file_falling", "finite", good, in_log=False)


def _control(name: str, code: str, losses: Sequence[float], *, in_log: bool = True) -> Control:
    told = tuple(LossSeen(index=i, value=v) for i, v in enumerate(losses)) if in_log else ()
    events = tuple(
        replace(e, loss=None if in_log else loss)
        for e, loss in zip(step_series((1.0,) * len(losses)), losses, strict=True)
    )
    world = World(
        subject=CONTROL_SUBJECT,
        steps=FixedSteps(events=events),
        log=FixedLog(log_facts=LogFacts(losses=told) if in_log else None),
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
