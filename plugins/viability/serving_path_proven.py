"""Fail when nobody has seen the engine serve what would be trained, in the shape that is meant.

A seven-hour run was built on an adapter that would be swapped in at serve time; the engine refused
it for the whole architecture (playbook 3.10). `pfid viability prove-serving -- CMD...` starts the
engine with the feature's flag alone, asks it for one completion, and keeps how that ended. A proof
counts for its configuration, its shape (adapters or merged weights) and its version of the engine,
as long as its log lies there as it was. Without one it fails, also where nobody said what will be
served: what is trained tells then.

Blind spot: quality and speed of what is served, and lengths and loads that one completion does not
reach. An engine that was changed without another version passes.

When it fires: make the proof before the window: `pfid viability prove-serving --model MODEL --
CMD...`, or say `--serve none` where nothing will be served. A gap in an engine cannot be mended by
training: serve merged weights (`--serve merged`), another engine, or train another base.

If it says `version_unknown`: see that the engine of the proof is still installed, or make the proof
again.

If it says `log_changed`, `log_gone`: make the proof again: `pfid viability prove-serving --model
MODEL -- CMD...`.

If it says `model_unknown`: name the model's folder, or its config.json.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.domain.serving import ServingEnd
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
)
from pfid.spec.fakes_viability import model_world
from pfid.spec.ports.served import ServedFacts

ANSWERS: Final = Answers(
    {
        "proven": (Outcome.PASS, "this version of the engine has served it in this shape"),
        "not_proven": (Outcome.FAIL, "nobody has started the engine with it in this shape"),
        "not_declared": (
            Outcome.FAIL,
            "nobody has started the engine with it, and nobody said that nothing will be served",
        ),
        "other_version": (Outcome.FAIL, "it was proven with another version of the engine"),
        "refused": (Outcome.FAIL, "the engine was started with it and refused"),
        "out_of_memory": (Outcome.FAIL, "the engine was started with it and ran out of memory"),
        "killed": (Outcome.FAIL, "the engine was killed before it answered"),
        "answers_errors": (Outcome.FAIL, "the engine listens and answers no completion"),
        "ended_after_ready": (Outcome.FAIL, "the engine answered once and ended by itself"),
        "hung": (Outcome.FAIL, "the engine neither answered nor ended in time"),
        "version_unknown": (
            Outcome.UNKNOWN,
            "it was proven, but which version of the engine is installed now cannot be told",
        ),
        "log_changed": (Outcome.UNKNOWN, "the log of the proof is another than was recorded"),
        "log_gone": (Outcome.UNKNOWN, "the log of the proof cannot be read any more"),
        "model_unknown": (Outcome.UNKNOWN, "no configuration lies there that a proof could name"),
        "not_served": (Outcome.NOT_APPLICABLE, "nothing of it shall be served"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    facts: ServedFacts | None


def observe(world: World) -> Seen:
    """Read; never decide."""
    return Seen(facts=world.served.facts())


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    facts = seen.facts
    if facts is None:
        return ANSWERS.say("not_served")
    came = facts.end.value if facts.end is not None else ""
    doubts = (
        (facts.problem, bool(facts.problem)),
        ("not_declared", facts.end is None and not facts.declared),
        ("not_proven", facts.end is None),
        ("log_changed", facts.log_changed),
        ("other_version", facts.same_engine is False),
        (came, facts.end is not ServingEnd.READY),
        ("log_gone", facts.log_gone),
        ("version_unknown", facts.same_engine is None),
    )
    code = next((code for code, holds in doubts if holds), "proven")
    return ANSWERS.say(
        code, *_details(facts, code), figures=_figures(facts), evidence=_evidence(facts)
    )


def _details(facts: ServedFacts, code: str) -> tuple[str, ...]:
    asked = "as adapters" if facts.shape == "adapter" else "as merged weights"
    if code in ("not_proven", "not_declared"):
        other = "it was tried in the other shape" if facts.other_shape else ""
        like = "another of its architecture was tried" if facts.other_model else ""
        return (asked, other, like)
    now = f"now {facts.now}" if facts.now and code == "other_version" else ""
    return (asked, facts.engine, now)


def _figures(facts: ServedFacts) -> dict[str, tuple[float | None, str]]:
    known = facts.end is not None
    return {
        "proofs": (facts.found, "1"),
        "age": (facts.age_s if known else None, "s"),
        "ready_after": (facts.ready_s or None, "s"),
    }


def _evidence(facts: ServedFacts) -> tuple[str, ...]:
    return tuple(line for line in (facts.detail, *facts.error) if line)


def controls(_: NoLimits) -> Iterable[Control]:
    """Proven first, then every way not to be."""
    good = ServedFacts(
        shape="adapter",
        found=1,
        end=ServingEnd.READY,
        engine="vllm 0.33.0",
        now="0.33.0",
        same_engine=True,
        ready_s=61.0,
    )
    words = ("AttributeError: 'get_expert_mapping' must be implemented",)
    yield _control("served", "proven", good)
    for end in ServingEnd:
        if end is not ServingEnd.READY:
            yield _control(end.value, end.value, replace(good, end=end, error=words))
    yield _control("never tried", "not_proven", ServedFacts(shape="adapter"))
    yield _control("nobody asked", "not_declared", ServedFacts(shape="adapter", declared=False))
    yield _control("proven, nobody asked", "proven", replace(good, declared=False))
    no_need = replace(good, declared=False, end=ServingEnd.REFUSED, error=words)
    yield _control("refused, nobody asked", "refused", no_need)
    yield _control(
        "another shape", "not_proven", ServedFacts(shape="adapter", other_shape=1, other_model=1)
    )
    newer = replace(good, now="0.34.0", same_engine=False)
    yield _control("upgraded since", "other_version", newer)
    refused = replace(newer, end=ServingEnd.REFUSED)
    yield _control("refused by an older one", "other_version", refused)
    yield _control("engine gone", "version_unknown", replace(good, now="", same_engine=None))
    yield _control("refused, engine gone", "refused", replace(refused, same_engine=None))
    yield _control("log edited", "log_changed", replace(good, log_changed=True))
    yield _control("log deleted", "log_gone", replace(good, log_gone=True))
    gone = replace(good, end=ServingEnd.REFUSED, error=words, log_gone=True)
    yield _control("refused, log deleted", "refused", gone)
    yield _control("no configuration", "model_unknown", ServedFacts(problem="model_unknown"))
    yield _control("not served", "not_served", None)


def _control(name: str, code: str, facts: ServedFacts | None) -> Control:
    return ANSWERS.control(name, code, model_world(served=facts))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="serving_path_proven",
        stage=Stage.VIABILITY,
        scope=Scope.BOX,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("served",),
        runbook=__doc__ or "",
    )
