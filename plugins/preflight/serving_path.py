"""Fail when what would be trained cannot be served in the shape that is meant.

A seven-hour run was built on an adapter that would be swapped in at serve time, and the engine
refused it for the whole architecture: a static fact, available months before (playbook 3.10). So a
proof counts that `pfid viability prove-serving` made of the base with the engine that is installed.
Where none is kept the command that the spec names is run: best one that starts the engine with the
feature's flag alone, which needs no adapter.

Blind spot: a command that ends with 0 whatever the engine says, and everything about quality and
speed of what is served.

When it fires: read the engine's last words. A gap in an engine cannot be mended by training: decide
before the window whether to merge instead of swapping, to serve with another engine, or to train
another base.

If it says `proof_doubtful`: make the proof again: `pfid viability prove-serving --model MODEL --
CMD...`.

If it says `not_started`, `serving_hung`, `serving_crashed`: run the command of `[serving]` by hand:
it is to start the engine, ask it once, and end by itself.
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
    Stage,
    Verdict,
    World,
    hookimpl,
    reported,
)
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import ServingFacts

ANSWERS: Final = Answers(
    {
        "servable": (Outcome.PASS, "the proof of the serving path came out well"),
        "proven": (Outcome.PASS, "this version of the engine is on record as having served it"),
        "not_proven": (Outcome.FAIL, "nobody has started the engine with it in this shape"),
        "other_version": (Outcome.FAIL, "it was proven with another version of the engine"),
        "proof_doubtful": (
            Outcome.UNKNOWN,
            "a proof is kept whose engine or log cannot be held against what is there now",
        ),
        "refused": (Outcome.FAIL, "the serving path was tried and refused"),
        "not_started": (Outcome.UNKNOWN, "the proof of the serving path cannot be started"),
        "serving_hung": (Outcome.UNKNOWN, "the proof of the serving path did not end in time"),
        "serving_crashed": (Outcome.UNKNOWN, "the proof of the serving path was killed"),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec names no serving path"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What came of the proof."""

    configured: bool
    problem: str
    refused: bool
    proven: bool
    said: str = reported(default="")


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.serving.facts()
    known = facts or ServingFacts()
    return Seen(
        configured=facts is not None,
        problem=known.problem,
        refused=known.refused,
        proven=known.proven,
        said=known.detail,
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    doubts = (
        ("not_configured", not seen.configured),
        (seen.problem, bool(seen.problem)),
        ("refused", seen.refused),
        ("proven", seen.proven),
    )
    code = next((code for code, holds in doubts if holds), "servable")
    return ANSWERS.say(code, evidence=(seen.said,) if seen.said else ())


def controls(_: NoLimits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    words = "'get_expert_mapping' must be implemented"
    for name, code, facts in (
        ("served", "servable", ServingFacts(detail="INFO: ready")),
        ("mixture of experts", "refused", ServingFacts(refused=True, detail=words)),
        ("on record", "proven", ServingFacts(proven=True, detail="vllm 0.33.0")),
        ("refused on record", "refused", ServingFacts(proven=True, refused=True, detail=words)),
        ("not configured", "not_configured", None),
        *(
            (code, code, ServingFacts(problem=code))
            for code in (
                *("not_started", "serving_hung", "serving_crashed"),
                *("not_proven", "other_version", "proof_doubtful"),
            )
        ),
    ):
        yield ANSWERS.control(name, code, project_world(serving=facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="serving_path",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("serving",),
        runbook=__doc__ or "",
    )
