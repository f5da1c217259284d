"""Fail when a run was launched with ``--instrument`` and reports no step from inside.

The log shows steps and the run's own step file holds none: the hooks are not where the optimizer
is. Without this the run would look as if nothing had been asked for, and its step times would be
those of the log, which is the silence that ``--instrument`` was meant to end.

Blind spot: a run whose log shows no steps either. Nothing tells then that it trains at all, and
the answer stays UNKNOWN. An optimizer that is seen beside one that is not passes.

When it fires: ``nobody_attached`` means that no interpreter of the run could see: started with
-I, -E or -S, through something that drops the environment (env -i, sudo, a scheduler, a
container), or without torch. ``no_step_reported`` means that torch was loaded under the hooks and
its optimizers do not step: a class of its own that is no ``torch.optim.Optimizer``, a step that is
compiled as a whole, a framework that updates parameters itself. In both cases call
``pfid.trainer.StepReporter().report()`` after each step; ``gave_up`` is pfid's own fault, and the
run's stderr holds the reason.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pfid.domain.inside import Inside
from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    Outcome,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
)
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog, FixedSteps, moving
from pfid.spec.ports.log import LogFacts

CALL: Final = "call pfid.trainer.StepReporter().report() after each step"
ANSWERS: Final = Answers(
    {
        "reported": (Outcome.PASS, "steps are reported from inside"),
        "nobody_attached": (
            Outcome.FAIL,
            "steps are seen and no interpreter of the run loads the hooks of --instrument",
        ),
        "no_step_reported": (
            Outcome.FAIL,
            "steps are seen and none of them comes through torch's step hooks",
        ),
        "gave_up": (Outcome.FAIL, "the hooks of --instrument have left after a fault of their own"),
        "no_step_yet": (Outcome.UNKNOWN, "no step has been seen anywhere yet"),
        "not_readable": (Outcome.UNKNOWN, "neither log nor step file can be read"),
        "not_instrumented": (Outcome.NOT_APPLICABLE, "launched without --instrument"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When silence is a fault.

    Attributes:
        steps: seen elsewhere while none is reported from inside. More than one: a bar may count
            something else once, and two files are not read in the same instant.
    """

    steps: int = limit(3, unit="steps", delta=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the step files say, and what is seen elsewhere.

    Attributes:
        readable: whether anything of the run can be read.
        inside: of the step files, None if there are none.
        steps: seen by whatever source.
    """

    readable: bool
    inside: Inside | None
    steps: int


def observe(world: World) -> Seen:
    """Read the facts of the files and the progress."""
    facts = world.log.facts()
    inside = None if facts is None else facts.inside
    # Progress changes by time alone: a run that was asked for no reports is not asked by the clock.
    progress = world.steps.progress() if inside is not None and inside.asked else None
    return Seen(
        readable=facts is not None,
        inside=inside,
        steps=0 if progress is None else progress.steps_seen,
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Hold what is reported against what is seen."""
    inside = seen.inside
    if not seen.readable:
        return ANSWERS.say("not_readable")
    if inside is None or not inside.asked:
        return ANSWERS.say("not_instrumented")
    code = _code(inside, seen.steps, limits)
    failed = ANSWERS.reasons[code] is Outcome.FAIL
    figures = {
        "reported": (inside.reported, "steps"),
        "seen": (seen.steps, "steps"),
        "lost": (inside.lost, "lines"),
    }
    return ANSWERS.say(code, CALL if failed else "", figures=figures)


def _code(inside: Inside, steps: int, limits: Limits) -> str:
    if inside.given_up:
        return "gave_up"
    if inside.reported:
        return "reported"
    if steps < limits.steps:
        return "no_step_yet"
    return "no_step_reported" if inside.attached else "nobody_attached"


def controls(limits: Limits) -> Iterable[Control]:
    """Either side of the limit, and each way of staying silent."""
    enough = limits.steps
    yield _control("reporting", "reported", Inside(asked=True, attached=1, reported=9), 9)
    yield _control("explicit_call", "reported", Inside(asked=True, explicit=True, reported=1), 1)
    yield _control("some_lost", "reported", Inside(asked=True, reported=9, lost=3), 12)
    yield _control("isolated", "nobody_attached", Inside(asked=True), enough)
    yield _control("own_optimizer", "no_step_reported", Inside(asked=True, attached=2), enough)
    yield _control("left", "gave_up", Inside(asked=True, reported=40, given_up=True), 80)
    yield _control("one_too_few", "no_step_yet", Inside(asked=True), enough - 1)
    yield _control("starting", "no_step_yet", Inside(asked=True, attached=1), 0)
    yield _control("not_asked_for", "not_instrumented", Inside(), enough)
    yield _control("no_step_file", "not_instrumented", None, enough)
    yield _control("blind", "not_readable", None, 0, log_facts=None)


def _control(name: str, code: str, inside: Inside | None, steps: int, **given: Any) -> Control:
    log = FixedLog(**{"log_facts": LogFacts(inside=inside), **given})
    progress = moving(steps_seen=steps) if given.get("log_facts", log) is not None else None
    world = World(subject=CONTROL_SUBJECT, log=log, steps=FixedSteps(moves=progress))
    return ANSWERS.control(name, code, world)


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="steps_unreported",
        stage=Stage.WATCH,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        cadence_s=5.0,
        reads=("log", "steps"),
        runbook=__doc__,
    )
