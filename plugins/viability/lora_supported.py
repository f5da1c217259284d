"""Fail when the class that serves a model takes no adapters, or an adapter would do nothing there.

Support is a fact of a class, mostly inherited, and the dense sibling's says nothing about the other
(playbook 3.10, 3.11 check 3). An engine also takes adapters whose names only end like names of its
own, and then looks each weight up by its whole path: with another prefix the weight is dropped
without a word and the adapter does nothing. So the class is looked up as Python would, over the
installed engine's source, and each name of a given adapter is renamed by the class's own rules and
followed through the modules that its constructors build.

Blind spot: shapes, ranks and limits of the server's own options; names below modules of another
library; whether weights of experts are laid out as the engine wants.

When it fires: merge the adapter into the weights, or train it on the class whose names the engine
has; a renamed prefix can be mended in the adapter's file. Adapters on a vision tower are left out
by the engine.

If it says `support_unseen`, `adapter_unseen`, `too_large`: name an interpreter that can import the
engine (`--engine-python`), or prove it by starting it: `pfid viability prove-serving`.

If it says `adapter_missing`, `adapter_unreadable`: name the folder that PEFT saved, with
adapter_model.safetensors in it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

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
)
from pfid.spec.engine_answers import (
    ENGINE_ANSWERS,
    ENGINE_PYTHON_ANSWERS,
    engine_controls,
    engine_evidence,
)
from pfid.spec.fakes_engine import engine
from pfid.spec.fakes_viability import PLAN, model_world
from pfid.spec.ports.engine import AdapterFacts, EngineFacts, MappingFacts

ANSWERS: Final = Answers(
    {
        "supported": (Outcome.PASS, "the class that serves the model takes adapters"),
        "adapter_binds": (Outcome.PASS, "every weight of the adapter has a module to go to"),
        "not_supported": (Outcome.FAIL, "the class that serves the model takes no adapters"),
        "adapter_refused": (Outcome.FAIL, "the engine refuses this adapter for names it has not"),
        "adapter_does_nothing": (
            Outcome.FAIL,
            "the engine takes the adapter and not one weight of it has a module to go to",
        ),
        "adapter_in_part": (
            Outcome.FAIL,
            "the engine takes the adapter and drops weights of it without a word",
        ),
        "support_unseen": (
            Outcome.UNKNOWN,
            "whether the class takes adapters cannot be told without running the engine",
        ),
        "adapter_unseen": (
            Outcome.UNKNOWN,
            "modules that the adapter names are built where source alone does not tell",
        ),
        "adapter_missing": (Outcome.UNKNOWN, "there is no adapter where one is named"),
        "adapter_unreadable": (Outcome.UNKNOWN, "the adapter's file cannot be read"),
        "too_large": (Outcome.UNKNOWN, "the class builds more than can be followed"),
        "no_adapter": (Outcome.NOT_APPLICABLE, "the whole model is trained, without an adapter"),
        **ENGINE_ANSWERS,
        **ENGINE_PYTHON_ANSWERS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    plan: Plan
    facts: EngineFacts | None


def observe(world: World) -> Seen:
    """Read; never decide."""
    return Seen(plan=world.plan.facts(), facts=world.engine.facts())


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    facts = seen.facts
    if facts is None:
        return ANSWERS.say("no_engine")
    if seen.plan.method is Method.FULL and facts.adapter is None:
        return ANSWERS.say("no_adapter")
    version = f"vLLM {facts.version}" if facts.version else ""
    return ANSWERS.say(
        _code(facts),
        version,
        facts.class_name,
        figures=_figures(facts.adapter),
        evidence=_evidence(facts),
    )


def _code(facts: EngineFacts) -> str:
    doubts = (
        (facts.problem, bool(facts.problem)),
        ("engine_contradicts", facts.confirmed is False),
        ("support_unseen", facts.lora is None),
        ("not_supported", facts.lora is False),
        ("supported", facts.adapter is None),
    )
    code = next((code for code, holds in doubts if holds), "") or _fate(facts)
    return code if code in ANSWERS.sentences else "engine_unreadable"


def _fate(facts: EngineFacts) -> str:
    """What becomes of the adapter's weights; experts bind where the engine has their names."""
    adapter = facts.adapter or AdapterFacts()
    mapped = facts.mapping.mapped is True
    bound = adapter.bound + (adapter.experts if mapped else 0)
    dropped = adapter.nowhere + adapter.towers
    unseen = adapter.unseen + (0 if mapped else adapter.experts)
    doubts = (
        (adapter.problem, bool(adapter.problem)),
        ("adapter_refused", adapter.refused > 0),
        ("adapter_does_nothing", dropped > 0 and not bound and not unseen),
        ("adapter_in_part", dropped > 0),
        ("adapter_unseen", unseen > 0),
    )
    return next((code for code, holds in doubts if holds), "adapter_binds")


def _figures(adapter: AdapterFacts | None) -> dict[str, tuple[float | None, str]]:
    if adapter is None or adapter.problem:
        return {}
    return {
        "bound": (adapter.bound, "1"),
        "experts": (adapter.experts, "1"),
        "towers": (adapter.towers, "1"),
        "nowhere": (adapter.nowhere, "1"),
        "refused": (adapter.refused, "1"),
        "unseen": (adapter.unseen, "1"),
    }


def _evidence(facts: EngineFacts) -> tuple[str, ...]:
    said = [facts.lora_doubt] if facts.lora_doubt else []
    if facts.adapter is not None:
        said += [facts.adapter.detail] if facts.adapter.detail else []
        said += facts.adapter.evidence
    return (*engine_evidence(facts), *said)


def controls(_: NoLimits) -> Iterable[Control]:
    """Supported first, then an adapter that binds and every way not to."""
    yield _control("supported", "supported")
    yield _control("confirmed", "supported", confirmed=True)
    yield _control("not supported", "not_supported", lora=False)
    yield _control("not told", "support_unseen", lora=None, lora_doubt="a base is computed")
    all_bound = AdapterFacts(bound=224)
    yield _control("binds", "adapter_binds", adapter=all_bound)
    yield _control("another prefix", "adapter_does_nothing", adapter=AdapterFacts(nowhere=224))
    yield _control("tower alone", "adapter_does_nothing", adapter=AdapterFacts(towers=153))
    yield _control("one dropped", "adapter_in_part", adapter=replace(all_bound, nowhere=1))
    yield _control("tower too", "adapter_in_part", adapter=replace(all_bound, towers=1))
    yield _control("one refused", "adapter_refused", adapter=replace(all_bound, refused=1))
    yield _control("one unseen", "adapter_unseen", adapter=replace(all_bound, unseen=1))
    experts = replace(all_bound, experts=128)
    yield _control("experts", "adapter_binds", adapter=experts)
    unmapped = MappingFacts(mapped=False)
    yield _control("experts unmapped", "adapter_unseen", adapter=experts, mapping=unmapped)
    for code in ("adapter_missing", "adapter_unreadable", "too_large"):
        yield _control(code, code, adapter=AdapterFacts(problem=code))
    whole = replace(PLAN, method=Method.FULL)
    yield ANSWERS.control("whole", "no_adapter", model_world(plan=whole, engine=engine()))
    given = engine(adapter=all_bound)
    yield ANSWERS.control("whole, with one", "adapter_binds", model_world(plan=whole, engine=given))
    yield from engine_controls(ANSWERS, lambda facts: model_world(plan=PLAN, engine=facts))


def _control(name: str, code: str, **facts: object) -> Control:
    return ANSWERS.control(name, code, model_world(plan=PLAN, engine=engine(**facts)))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="lora_supported",
        stage=Stage.VIABILITY,
        scope=Scope.BOX,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("engine", "plan"),
        deadline_s=180.0,
        runbook=__doc__ or "",
    )
