"""Fail when documents that share a row would bleed into each other through a recurrent state.

An attention mask keeps packed documents apart; the state of a recurrent layer runs along the row
and no mask resets it (playbook 3.11, check 4b). Only kernels that are told where documents meet
keep them apart, and only if the modelling code hands that on: both are read where training runs.
The reference code of transformers refuses such boundaries, of older versions it ignores them.

Blind spot: whether the data collator really hands the boundaries over; nothing is computed here.
Attention over packed rows is the mask probe's matter (`pfid probe mask`).

When it fires: train one document a row (`--packing none`), or hand boundaries on with the kernels
installed (a collator that returns sequence lengths), and see with two documents that the second's
loss does not change with the first.

If it says `no_kernel_known`: see with two documents that the second's loss does not change with the
first; else train one document a row (`--packing none`).

If it says `no_transformers`, `class_unknown`: name the interpreter that will train with `--python`,
with a transformers that knows the model.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.domain.model import RECURRENT, Mixer, ModelShape
from pfid.domain.training_plan import Packing
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
from pfid.spec.fakes_viability import DENSE, HYBRID, PLAN, model, model_world
from pfid.spec.model_answers import MODEL_ANSWERS, model_controls
from pfid.spec.ports.viability import KernelFacts
from pfid.spec.python_answers import PYTHON_ANSWERS, python_controls

ANSWERS: Final = Answers(
    {
        "attention_alone": (Outcome.PASS, "no layer is recurrent: a mask keeps documents apart"),
        "boundaries_handed": (
            Outcome.PASS,
            "the modelling code hands boundaries to kernels that are there",
        ),
        "state_crosses": (
            Outcome.FAIL,
            "documents share a row and the state of recurrent layers runs from one to the next",
        ),
        "boundaries_lost": (
            Outcome.FAIL,
            "the installed modelling code hands no boundaries to its recurrent layers",
        ),
        "kernels_missing": (
            Outcome.FAIL,
            "without the fused kernels recurrent layers know no boundaries",
        ),
        "no_kernel_known": (
            Outcome.UNKNOWN,
            "layers are recurrent and the installed modelling code looks for no kernel",
        ),
        "no_transformers": (
            Outcome.UNKNOWN,
            "the training interpreter has no transformers that could hand boundaries on",
        ),
        "class_unknown": (
            Outcome.UNKNOWN,
            "the installed transformers does not know the model's class",
        ),
        "not_packed": (Outcome.NOT_APPLICABLE, "nobody says that documents share a row"),
        **MODEL_ANSWERS,
        **PYTHON_ANSWERS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    problem: str
    shape: ModelShape | None
    packing: Packing
    kernels: KernelFacts
    detail: str = reported(default="")


def observe(world: World) -> Seen:
    """Read; the interpreter is asked only where boundaries are meant to be handed on."""
    facts, packing = world.model.facts(), world.plan.facts().packing
    hybrid = facts.shape is not None and facts.shape.count(*RECURRENT) > 0
    asks = hybrid and packing is Packing.BOUNDARIES
    return Seen(
        problem=facts.problem,
        shape=facts.shape,
        packing=packing,
        kernels=world.kernels.facts() if asks else KernelFacts(),
        detail=facts.detail,
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    if seen.problem or seen.shape is None:
        code = seen.problem if seen.problem in ANSWERS.sentences else "no_model"
        return ANSWERS.say(code, evidence=(seen.detail,) if seen.detail else ())
    recurrent = seen.shape.count(*RECURRENT)
    figures = {"recurrent_layers": (recurrent, "1"), "layers": (len(seen.shape.layers), "1")}
    return ANSWERS.say(_code(seen, seen.shape), figures=figures, evidence=_evidence(seen.kernels))


def _code(seen: Seen, shape: ModelShape) -> str:
    if seen.packing is Packing.NONE:
        return "not_packed"
    if not shape.count(*RECURRENT):
        return "shapes_unknown" if shape.count(Mixer.UNKNOWN) else "attention_alone"
    return "state_crosses" if seen.packing is Packing.PLAIN else _by_kernels(seen.kernels)


def _by_kernels(kernels: KernelFacts) -> str:
    if kernels.problem:
        return kernels.problem if kernels.problem in ANSWERS.sentences else "class_unknown"
    if not kernels.boundaries:
        return "boundaries_lost"
    if kernels.missing:
        return "kernels_missing"
    return "boundaries_handed" if kernels.needed else "no_kernel_known"


def _evidence(kernels: KernelFacts) -> tuple[str, ...]:
    said = [f"transformers {kernels.transformers}"] if kernels.transformers else []
    said += [f"{name}: {why}" for name, why in kernels.missing]
    return (*said, kernels.detail) if kernels.detail else tuple(said)


def controls(_: NoLimits) -> Iterable[Control]:
    """Boundaries that arrive first; then a dense model and each way for them to be lost."""
    found = KernelFacts(needed=("fla:chunk_gated_delta_rule",), boundaries=True)
    lost = replace(found, missing=(("fla:chunk_gated_delta_rule", "ModuleNotFoundError: fla"),))
    told, plain = Packing.BOUNDARIES, Packing.PLAIN
    yield _control("arrives", "boundaries_handed", HYBRID, told, found)
    yield _control("joined alone", "state_crosses", HYBRID, plain, found)
    yield _control(
        "handed to nobody", "boundaries_lost", HYBRID, told, replace(found, boundaries=False)
    )
    yield _control("no kernel", "kernels_missing", HYBRID, told, lost)
    yield _control("none looked for", "no_kernel_known", HYBRID, told, replace(found, needed=()))
    yield _control("dense", "attention_alone", DENSE, plain, lost)
    yield _control("one a row", "not_packed", HYBRID, Packing.NONE, lost)
    for mixer in (Mixer.MAMBA, Mixer.CONV, Mixer.HYBRID):
        layer = replace(HYBRID.layers[0], mixer=mixer)
        one = replace(DENSE, layers=(*DENSE.layers, layer))
        yield _control(f"one {mixer.value}", "state_crosses", one, plain, found)
    unknown = replace(DENSE, layers=(replace(DENSE.layers[0], mixer=Mixer.UNKNOWN),))
    yield _control("untold", "shapes_unknown", unknown, plain, found)
    for code in ("no_transformers", "class_unknown"):
        yield _control(code, code, HYBRID, told, KernelFacts(problem=code))
    plan = replace(PLAN, packing=told)
    yield from model_controls(
        ANSWERS, lambda facts: model_world(model=facts, plan=plan, kernels=found)
    )
    yield from python_controls(
        ANSWERS,
        lambda code: model_world(model=model(HYBRID), plan=plan, kernels=KernelFacts(problem=code)),
    )


def _control(
    name: str, code: str, shape: ModelShape, packing: Packing, kernels: KernelFacts
) -> Control:
    plan = replace(PLAN, packing=packing)
    return ANSWERS.control(name, code, model_world(model=model(shape), plan=plan, kernels=kernels))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="packing_boundaries",
        stage=Stage.VIABILITY,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("kernels", "model", "plan"),
        runbook=__doc__ or "",
    )
