"""Fail when a run of the name that would be launched is alive.

Two runs of one name write one log and take each other's checkpoints. A run is a captured process,
never a pattern: the launcher's own guard that matched the monitor's command line refused the run
that should have replaced the dead one (playbook 4.5).

Blind spot: a run on another box, or one that was started without pfid.

When it fires: `pfid stop RUN`, or give the new run another name.

If it says `cannot_tell`: ask `pfid status`; where the daemon does not answer, mend that first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    NoLimits,
    Outcome,
    Scope,
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    reported,
)
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import NameFacts

ANSWERS: Final = Answers(
    {
        "free": (Outcome.PASS, "no run of this name lives"),
        "running": (Outcome.FAIL, "a run of this name lives"),
        "cannot_tell": (
            Outcome.UNKNOWN,
            "it cannot be told whether an earlier run of this name lives",
        ),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec gives the run no name"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    configured: bool
    problem: str
    living: int
    runs: tuple[str, ...] = reported(default=())
    said: str = reported(default="")


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.launched.facts()
    known = facts or NameFacts()
    return Seen(
        configured=facts is not None,
        problem=known.problem,
        living=len(known.living),
        runs=known.living,
        said=known.detail,
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    doubts = (
        ("not_configured", not seen.configured),
        ("running", seen.living > 0),
        (seen.problem, bool(seen.problem)),
    )
    code = next((code for code, holds in doubts if holds), "free")
    return ANSWERS.say(code, ", ".join(seen.runs), evidence=(seen.said,) if seen.said else ())


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    for name, code, facts in (
        ("free", "free", NameFacts()),
        ("lives", "running", NameFacts(living=("m-20260829t120000z-0000",))),
        ("lives, another is unclear", "running", NameFacts(living=("m",), problem="cannot_tell")),
        ("unclear", "cannot_tell", NameFacts(problem="cannot_tell")),
        ("not configured", "not_configured", None),
    ):
        yield ANSWERS.control(name, code, project_world(launched=facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="name_not_running",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        severity=Severity.CRITICAL,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("launched",),
        runbook=__doc__ or "",
    )
