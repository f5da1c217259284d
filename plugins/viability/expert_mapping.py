"""Fail when the installed engine would refuse any adapter on a model with experts.

Before vLLM takes an adapter on such a model it asks for the names of the experts, whether or not
the adapter touches them, and refuses where nothing answers: "'get_expert_mapping' must be
implemented" (playbook 3.10, 3.11 check 2). Versions differ in where they look: some ask the class
and its direct children, newer ones every module, and the layer of experts answers by itself. So
both are read out of the installed code: the rule, and the class that serves this model, with what
it inherits and what it builds. A search for the word in a file is wrong in both directions.
Of a class that is written once a platform it is the one of the platform that the build is for, as
the label of its version says; where that says nothing all platforms must agree.

Blind spot: an engine that was patched when it runs, and quantised layers that take no adapters.
Source that cannot be followed is unknown, and so is a rule of another shape.

When it fires: merge adapters into the weights before serving, or serve with a version that walks
the modules. No change to training or to the adapter helps: the refusal is for the architecture.

If it says `experts_unseen`, `rule_unknown`, `too_large`: name an interpreter that can import the
engine (`--engine-python`), or prove it by starting it: `pfid viability prove-serving`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.domain.model import ModelShape
from pfid.domain.training_plan import Method, Plan
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
from pfid.spec.engine_answers import (
    ENGINE_ANSWERS,
    ENGINE_PYTHON_ANSWERS,
    engine_controls,
    engine_evidence,
)
from pfid.spec.fakes_engine import MOE, engine
from pfid.spec.fakes_viability import DENSE, PLAN, model, model_world
from pfid.spec.model_answers import BY_FILES, MODEL_ANSWERS, model_controls
from pfid.spec.ports.engine import EngineFacts, MappingFacts

ANSWERS: Final = Answers(
    {
        "mapped": (Outcome.PASS, "the engine finds the names of the experts by its own rule"),
        "mapping_not_asked_for": (
            Outcome.PASS,
            "the engine builds no fused experts for this class, so it asks for no names",
        ),
        "mapping_missing": (
            Outcome.FAIL,
            "the engine finds no names of experts and would refuse every adapter: merge only",
        ),
        "rule_unknown": (
            Outcome.UNKNOWN,
            "this version decides about experts by code that is not known here",
        ),
        "experts_unseen": (
            Outcome.UNKNOWN,
            "the class builds modules that cannot be followed without running the engine",
        ),
        "too_large": (Outcome.UNKNOWN, "the class builds more than can be followed"),
        "dense": (Outcome.NOT_APPLICABLE, "the model has no experts"),
        "no_adapter": (Outcome.NOT_APPLICABLE, "the whole model is trained, without an adapter"),
        **ENGINE_ANSWERS,
        **ENGINE_PYTHON_ANSWERS,
        **{code: MODEL_ANSWERS[code] for code in BY_FILES},
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    problem: str
    shape: ModelShape | None
    plan: Plan
    facts: EngineFacts | None
    detail: str = reported(default="")


def observe(world: World) -> Seen:
    """Read; the engine is asked only about a model with experts that would get an adapter."""
    facts, plan = world.model.facts(), world.plan.facts()
    shape = facts.shape
    wanted = shape is not None and shape.experts > 0 and plan.method is not Method.FULL
    return Seen(
        problem=facts.problem,
        shape=shape,
        plan=plan,
        facts=world.engine.facts() if wanted else None,
        detail=facts.detail,
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    if seen.problem or seen.shape is None:
        code = seen.problem if seen.problem in ANSWERS.sentences else "no_model"
        return ANSWERS.say(code, evidence=(seen.detail,) if seen.detail else ())
    figures = {"experts": (seen.shape.experts, "1")}
    if not seen.shape.experts:
        return ANSWERS.say("dense", figures=figures)
    if seen.plan.method is Method.FULL:
        return ANSWERS.say("no_adapter", figures=figures)
    if seen.facts is None:
        return ANSWERS.say("no_engine", figures=figures)
    code = _code(seen.facts)
    said = f"vLLM {seen.facts.version}" if seen.facts.version else ""
    return ANSWERS.say(
        code, said, seen.facts.class_name, figures=figures, evidence=_evidence(seen.facts)
    )


def _code(facts: EngineFacts) -> str:
    mapping = facts.mapping
    doubts = (
        (facts.problem, bool(facts.problem)),
        ("engine_contradicts", facts.confirmed is False),
        (mapping.problem, bool(mapping.problem)),
        ("mapped", mapping.mapped is True),
        ("mapping_not_asked_for", mapping.builds is False),
        ("experts_unseen", mapping.builds is None or mapping.mapped is None),
    )
    code = next((code for code, holds in doubts if holds), "mapping_missing")
    return code if code in ANSWERS.sentences else "engine_unreadable"


def _evidence(facts: EngineFacts) -> tuple[str, ...]:
    said = facts.mapping.detail
    return (*engine_evidence(facts), *facts.mapping.evidence, *((said,) if said else ()))


def controls(_: NoLimits) -> Iterable[Control]:
    """Mapped by a walk and by a class; refused; and each way not to know."""
    walks = MappingFacts(walks=True, evidence=("RoutedExperts.get_expert_mapping",))
    yield _control("walked", "mapped", engine(mapping=walks))
    yield _control("by its class", "mapped", engine(mapping=replace(walks, walks=False)))
    yield _control("confirmed", "mapped", engine(mapping=walks, confirmed=True))
    missing = MappingFacts(builds=True, mapped=False)
    yield _control("missing", "mapping_missing", engine(mapping=missing))
    yield _control(
        "none built", "mapping_not_asked_for", engine(mapping=replace(missing, builds=False))
    )
    yield _control(
        "not seen built", "experts_unseen", engine(mapping=replace(missing, builds=None))
    )
    yield _control(
        "not seen mapped", "experts_unseen", engine(mapping=replace(missing, mapped=None))
    )
    for code in ("rule_unknown", "too_large"):
        yield _control(code, code, engine(mapping=MappingFacts(problem=code, builds=None)))
    yield _control("dense", "dense", engine(mapping=missing), DENSE)
    yield ANSWERS.control(
        "whole",
        "no_adapter",
        _world(engine(mapping=missing), plan=replace(PLAN, method=Method.FULL)),
    )
    yield from engine_controls(ANSWERS, _world)
    yield from model_controls(
        ANSWERS, lambda facts: model_world(model=facts, plan=PLAN, engine=engine())
    )


def _world(facts: EngineFacts | None, shape: ModelShape = MOE, plan: Plan = PLAN) -> World:
    return model_world(model=model(shape), plan=plan, engine=facts)


def _control(name: str, code: str, facts: EngineFacts, shape: ModelShape = MOE) -> Control:
    return ANSWERS.control(name, code, _world(facts, shape))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="expert_mapping",
        stage=Stage.VIABILITY,
        scope=Scope.BOX,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("engine", "model", "plan"),
        deadline_s=180.0,
        runbook=__doc__ or "",
    )
