"""Fail when whoever will watch the run has not been seen to fire lately.

A watchdog that never fires looks exactly like a system that never breaks: one matched its own
command line for days and reported a dead run alive (playbook 4.5). `pfid selftest --live` kills,
stops and slows down a real process and waits until verdict, event and metric have arrived. This
check asks when that was last done here, and whether all of it fired.

Blind spot: drills of GPUs can only be walked where a stand-in for the driver is. A drill says that
the way was open then, not that it is now.

When it fires: run `pfid selftest --live`; it takes one to three minutes. If a drill fails, do not
launch: `pfid checks explain` names what its check reads.

If it says `nobody_watches`: start the daemon, or let pfid start an engine of the run's own: `pfid
selftest --live` shows what keeps it from that.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    Outcome,
    Scope,
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
    reported,
)
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import WatchdogFacts

ANSWERS: Final = Answers(
    {
        "tested": (Outcome.PASS, "whoever will watch has fired on real faults lately"),
        "never_tested": (Outcome.FAIL, "whoever will watch has never been driven to fire here"),
        "test_old": (Outcome.FAIL, "the last live drill is too long ago"),
        "did_not_fire": (Outcome.FAIL, "in the last live drill a check did not fire"),
        "nobody_watches": (
            Outcome.UNKNOWN,
            "neither a daemon nor an engine of the run's own can be asked",
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a drill is believed.

    Attributes:
        age_s: seconds since it.
    """

    age_s: float = limit(7 * 86_400.0, unit="s", factor=1.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    who: str
    age_s: float | None
    failed: int
    names: tuple[str, ...] = reported(default=())


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.watchdog.facts()
    return Seen(who=facts.who, age_s=facts.age_s, failed=len(facts.failed), names=facts.failed)


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    code = "tested"
    if not seen.who:
        code = "nobody_watches"
    elif seen.age_s is None:
        code = "never_tested"
    elif seen.failed:
        code = "did_not_fire"
    elif not 0 <= seen.age_s <= limits.age_s:
        code = "test_old"
    return ANSWERS.say(code, seen.who, ", ".join(seen.names), figures={"age": (seen.age_s, "s")})


def controls(limits: Limits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    for name, code, facts in (
        ("daemon", "tested", WatchdogFacts(who="daemon", age_s=3_600.0)),
        ("engine", "tested", WatchdogFacts(who="engine", age_s=3_600.0)),
        ("almost old", "tested", WatchdogFacts(who="daemon", age_s=limits.age_s * 0.95)),
        ("old", "test_old", WatchdogFacts(who="daemon", age_s=limits.age_s * 1.05)),
        ("in the future", "test_old", WatchdogFacts(who="daemon", age_s=-60.0)),
        ("never", "never_tested", WatchdogFacts(who="engine")),
        ("run_gone slept", "did_not_fire", WatchdogFacts(who="daemon", age_s=60.0, failed=("a",))),
        ("nobody", "nobody_watches", WatchdogFacts(age_s=60.0)),
    ):
        yield ANSWERS.control(name, code, project_world(watchdog=facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="watchdog_tested_negative",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        reads=("watchdog",),
        runbook=__doc__ or "",
    )
