"""Fail when a relaunch would write into the log of the run before.

A log that is appended to becomes a liar by accumulation: the traceback of a dead attempt stands in
front of the live run, and whoever looks for a failure finds one (playbook 4.7.1). One file
describes one run. So a rotation is really made, of a scratch log in the very folder of the run's:
by pfid's own, or by the command that the spec names.

Blind spot: a launcher that is not `pfid run` and does not use that command. A folder that fills up
or loses its rights later.

When it fires: launch with `pfid run`, call `pfid rotate LOG` before the start, or repair the
rotation that the spec names; it is given the path of the log and must leave the old text in
another file and the name free.

If it says `rotation_hung`, `rotation_failed`: repair the rotation that the spec names: it is to end
by itself with 0; its lines hold its last words.
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
from pfid.spec.ports.preflight import RotationFacts

ANSWERS: Final = Answers(
    {
        "rotates": (Outcome.PASS, "a relaunch finds the log's name free, and the old text is kept"),
        "not_rotated": (
            Outcome.FAIL,
            "after a rotation the old text still stands under the log's name",
        ),
        "text_lost": (Outcome.FAIL, "after a rotation the old text stands nowhere any more"),
        "no_folder": (Outcome.FAIL, "the folder of the log does not exist or may not be written"),
        "rotation_hung": (Outcome.UNKNOWN, "the rotation did not end in time"),
        "rotation_failed": (Outcome.UNKNOWN, "the rotation could not be carried out"),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec names no log"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    configured: bool
    problem: str
    kept: bool
    fresh: bool
    said: str = reported(default="")


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.rotation.facts()
    known = facts or RotationFacts()
    return Seen(
        configured=facts is not None,
        problem=known.problem,
        kept=known.kept,
        fresh=known.fresh,
        said=known.detail,
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    doubts = (
        ("not_configured", not seen.configured),
        (seen.problem, bool(seen.problem)),
        ("not_rotated", not seen.fresh),
        ("text_lost", not seen.kept),
    )
    code = next((code for code, holds in doubts if holds), "rotates")
    return ANSWERS.say(code, evidence=(seen.said,) if seen.said else ())


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    for name, code, facts in (
        ("rotates", "rotates", RotationFacts()),
        ("appends", "not_rotated", RotationFacts(fresh=False)),
        ("copies and appends", "not_rotated", RotationFacts(fresh=False, kept=False)),
        ("truncates", "text_lost", RotationFacts(kept=False)),
        ("not configured", "not_configured", None),
        *(
            (code, code, RotationFacts(problem=code))
            for code in ("no_folder", "rotation_hung", "rotation_failed")
        ),
    ):
        yield ANSWERS.control(name, code, project_world(rotation=facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="log_rotates",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("rotation",),
        runbook=__doc__ or "",
    )
