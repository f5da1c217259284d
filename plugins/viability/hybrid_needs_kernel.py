"""Fail when a model has recurrent layers and the training interpreter lacks their fused kernels.

Newest is not fastest: without the kernels transformers runs a reference implementation, and a
hybrid of 0.765 B then trained at 540 tokens/s where a dense model of 1.755 B made 1,415 (playbook
3.11, check 4). Only both together are slow: a dense model needs no kernel, a hybrid with its
kernels is fine. Layers are found wherever a configuration tells them; a pattern of windows is no
hybrid. Which kernels count is read from the modelling code of the installed transformers, and each
is imported where training runs.

Blind spot: a kernel that is imported and is not for this card, and what a trainer swaps in later.
A model that brings its own code is not executed, so nobody can say what it looks for.

When it fires: install what is named into the training interpreter, or take a dense base. Do not
pack documents into one sequence: the state runs across their borders unless kernels are given the
boundaries.

If it says `no_kernel_known`: look in the modelling code for what these layers run on, and time a
step: no kernel is known here.

If it says `no_transformers`, `class_unknown`: name the interpreter that will train with `--python`,
with a transformers that knows the model.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.domain.model import RECURRENT, Mixer, ModelShape
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
from pfid.spec.fakes_viability import DENSE, HYBRID, model, model_world
from pfid.spec.model_answers import MODEL_ANSWERS, model_controls
from pfid.spec.ports.viability import KernelFacts
from pfid.spec.python_answers import PYTHON_ANSWERS, python_controls

ANSWERS: Final = Answers(
    {
        "not_hybrid": (Outcome.PASS, "no layer is recurrent, so no fused kernel is needed"),
        "kernels_present": (
            Outcome.PASS,
            "the fused kernels that its class looks for can be imported where training runs",
        ),
        "kernels_missing": (
            Outcome.FAIL,
            "layers are recurrent and fused kernels cannot be imported where training runs",
        ),
        "no_kernel_known": (
            Outcome.UNKNOWN,
            "layers are recurrent and the installed modelling code looks for no kernel",
        ),
        "no_transformers": (
            Outcome.UNKNOWN,
            "the training interpreter has no transformers that could look for kernels",
        ),
        "class_unknown": (
            Outcome.UNKNOWN,
            "the installed transformers does not know the model's class",
        ),
        **MODEL_ANSWERS,
        **PYTHON_ANSWERS,
    }
)
BY_MECHANISM: Final = {
    Mixer.DELTA: "fla and causal_conv1d",
    Mixer.MAMBA: "mamba_ssm and causal_conv1d",
    Mixer.HYBRID: "mamba_ssm and causal_conv1d",
    Mixer.CONV: "causal_conv1d",
}
"""What serves such layers by their mechanism; context alone, the installed code decides."""
CONTEXT: Final = "measured without kernels: 0.765 B hybrid 540 tokens/s, 1.755 B dense 1,415"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    problem: str
    shape: ModelShape | None
    kernels: KernelFacts
    detail: str = reported(default="")


def observe(world: World) -> Seen:
    """Read; the interpreter is asked only about a model with recurrent layers."""
    facts = world.model.facts()
    hybrid = facts.shape is not None and facts.shape.count(*RECURRENT) > 0
    return Seen(
        problem=facts.problem,
        shape=facts.shape,
        kernels=world.kernels.facts() if hybrid else KernelFacts(),
        detail=facts.detail,
    )


def judge(seen: Seen, _: NoLimits) -> Verdict:
    """Decide, purely."""
    if seen.problem or seen.shape is None:
        code = seen.problem if seen.problem in ANSWERS.sentences else "no_model"
        return ANSWERS.say(code, evidence=(seen.detail,) if seen.detail else ())
    shape, kernels = seen.shape, seen.kernels
    recurrent = shape.count(*RECURRENT)
    figures = {
        "recurrent_layers": (recurrent, "1"),
        "layers": (len(shape.layers), "1"),
        "kernels_needed": (len(kernels.needed), "1"),
        "kernels_missing": (len(kernels.missing), "1"),
    }
    evidence = _evidence(seen) if recurrent else tuple(text for _, text in shape.notes)
    return ANSWERS.say(_code(seen, recurrent), figures=figures, evidence=evidence)


def _code(seen: Seen, recurrent: int) -> str:
    shape, kernels = seen.shape, seen.kernels
    if not recurrent:
        unknown = shape is not None and shape.count(Mixer.UNKNOWN)
        return "shapes_unknown" if unknown else "not_hybrid"
    if kernels.problem:
        return kernels.problem if kernels.problem in ANSWERS.sentences else "class_unknown"
    if kernels.missing:
        return "kernels_missing"
    return "kernels_present" if kernels.needed else "no_kernel_known"


def _evidence(seen: Seen) -> tuple[str, ...]:
    shape, kernels = seen.shape, seen.kernels
    kinds = [m for m in BY_MECHANISM if shape is not None and shape.count(m)]
    said = [f"{shape.count(m)} layers of {m.value}" for m in kinds if shape is not None]
    said += [f"such layers are served by {BY_MECHANISM[m]}" for m in kinds]
    if kernels.transformers:
        looks = ", ".join(kernels.needed) or "nothing"
        said.append(f"transformers {kernels.transformers} looks for {looks}")
    said += [f"{name}: {why}" for name, why in kernels.missing]
    if kernels.detail:
        said.append(kernels.detail)
    return (*said, CONTEXT, "packing lets the state cross documents unless boundaries are honoured")


def controls(_: NoLimits) -> Iterable[Control]:
    """A hybrid with its kernels first; then dense, false and true hybrids without."""
    found = KernelFacts(
        transformers="5.24.0",
        needed=("fla:chunk_gated_delta_rule", "causal_conv1d:causal_conv1d_fn"),
    )
    lost = replace(found, missing=(("fla:chunk_gated_delta_rule", "ModuleNotFoundError: fla"),))
    yield _control("with kernels", "kernels_present", HYBRID, found)
    yield _control("without", "kernels_missing", HYBRID, lost)
    yield _control("dense without", "not_hybrid", DENSE, lost)
    yield _control("looks for none", "no_kernel_known", HYBRID, replace(found, needed=()))
    for mixer in (Mixer.MAMBA, Mixer.CONV, Mixer.HYBRID):
        layer = replace(HYBRID.layers[0], mixer=mixer)
        one = replace(DENSE, layers=(*DENSE.layers, layer))
        yield _control(f"one {mixer.value}", "kernels_missing", one, lost)
    unknown = replace(DENSE, layers=(replace(DENSE.layers[0], mixer=Mixer.UNKNOWN),))
    yield _control("untold", "shapes_unknown", unknown, lost)
    for code in ("no_transformers", "class_unknown"):
        yield _control(code, code, HYBRID, KernelFacts(problem=code))
    yield from model_controls(ANSWERS, lambda facts: model_world(model=facts, kernels=found))
    yield from python_controls(
        ANSWERS,
        lambda code: model_world(model=model(HYBRID), kernels=KernelFacts(problem=code)),
    )


def _control(name: str, code: str, shape: ModelShape, kernels: KernelFacts) -> Control:
    return ANSWERS.control(name, code, model_world(model=model(shape), kernels=kernels))


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="hybrid_needs_kernel",
        stage=Stage.VIABILITY,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        reads=("kernels", "model"),
        runbook=__doc__ or "",
    )
