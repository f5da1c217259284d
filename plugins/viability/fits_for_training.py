"""Fail when a base model cannot be trained on the card: its peak decides, not its weights.

Sizes come from index, shard headers, `params.json` or the shapes of the configuration, and never
from a name (8x22B is 141 B parameters). The peak is counted item by item between bounds: weights,
adapters, gradients, optimizer states, kept activations, the worst layer's backward pass, logits,
attention workspace, allocator slack. Quantised checkpoints, Git LFS pointers and missing shards
fail too: they are no base to train, but for bitsandbytes under `--method qlora`.

Recurrent layers keep several times more without their fused kernels: the training interpreter
(`--python`) says which it is, and without one the bounds hold both.

Blind spot: the account is of plain transformers modules. A trainer with fused kernels takes less,
one that keeps logits or copies of its own takes more. What fused kernels of recurrent layers keep
is read from their sources and was held against no card. Of recurrences that are none of delta rule,
Mamba or short convolution nobody knows what they keep: they can fail and never pass without a
measured step. What layers of a type keep that was never held against torch's tracker, or never
with this activation, is counted at half to one and a half, as if its class kept its scores: the
bounds are wide (Nemotron-H: up to 91 % of their middle either way), PASS and FAIL stand where even
they decide, and near the card it is UNKNOWN.
Nothing here splits a model over cards.

When it fires: shorten the sequence or the micro-batch, or take a smaller base;
`weights_are_pointers` wants `git lfs pull`. When it is `too_close`, measure one step's peak and
give it with `--measured-peak`: the bounds close around it; `activations_never_held` wants the same.
When `kernels_decide`, name the interpreter that will train with `--python`.

If it says `too_close`, `activations_never_held`, `recurrent_unmeasured`: measure one step's peak
and give it with `--measured-peak`: the bounds close around it.

If it says `kernels_decide`: name the interpreter that will train with `--python`.

If it says `sizes_disagree`, `shards_unreadable`, `shards_outside`: download the files again: index,
shards and configuration are not of one model.

If it says `measurement_contradicts`: measure the peak of a whole step again, with the plan that is
stated here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.analysis.memory.cases import NOBODY, cases
from pfid.analysis.memory.room import of_card, room_for
from pfid.analysis.memory.told import figures_of, lines_of
from pfid.domain.model import FUSING, ModelShape
from pfid.domain.training_plan import Plan
from pfid.domain.weights import Weights
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
from pfid.spec.fakes_viability import PLAN, model_world
from pfid.spec.model_answers import MODEL_ANSWERS, model_controls

ANSWERS: Final = Answers(
    {
        "fits": (Outcome.PASS, "the training's peak fits"),
        "fits_with_chunked_loss": (
            Outcome.PASS,
            "the peak fits if the loss is computed in chunks; whole logits would not",
        ),
        "does_not_fit": (Outcome.FAIL, "the training's peak does not fit"),
        "weights_do_not_fit": (Outcome.FAIL, "the weights alone do not fit"),
        "quantised": (Outcome.FAIL, "the weights are quantised: no base for this training"),
        "weights_are_pointers": (
            Outcome.FAIL,
            "shards on disk are Git LFS pointers, not weights: run git lfs pull",
        ),
        "shards_missing": (Outcome.FAIL, "shards that the index names are missing"),
        "too_close": (
            Outcome.UNKNOWN,
            "the card lies within the bounds of the peak: measure one step",
        ),
        "kernels_decide": (
            Outcome.UNKNOWN,
            "it fits with fused kernels, and perhaps not without: name the training interpreter",
        ),
        "activations_never_held": (
            Outcome.UNKNOWN,
            "the card lies within the wide bounds of a type that was never held: measure one step",
        ),
        "recurrent_unmeasured": (
            Outcome.UNKNOWN,
            "what these recurrent layers keep is not known: measure one step",
        ),
        "sizes_disagree": (
            Outcome.UNKNOWN,
            "the files hold another number of parameters than the configuration describes",
        ),
        "shards_unreadable": (Outcome.UNKNOWN, "headers of shards cannot be read"),
        "shards_outside": (
            Outcome.UNKNOWN,
            "the index places shards outside its folder; they were not opened",
        ),
        "measurement_contradicts": (
            Outcome.UNKNOWN,
            "the measured peak is less than what stays in memory, so it is of something else",
        ),
        **MODEL_ANSWERS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What may not be exceeded."""

    differs_max: float = limit(0.03, unit="ratio", factor=1.2)
    reserve_share: float = limit(0.02, unit="ratio", factor=1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    problem: str
    shape: ModelShape | None
    weights: Weights
    plan: Plan
    detail: str = reported(default="")


def observe(world: World) -> Seen:
    """Read; never decide."""
    facts, plan = world.model.facts(), world.plan.facts()
    if facts.shape is not None and facts.shape.count(*FUSING):
        plan = replace(plan, fused=world.kernels.facts().fused)
    return Seen(
        problem=facts.problem,
        shape=facts.shape,
        weights=facts.weights,
        plan=plan,
        detail=facts.detail,
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    usable = seen.plan.gpu_memory_bytes * (1 - limits.reserve_share)
    if seen.problem or seen.shape is None:
        code = seen.problem if seen.problem in ANSWERS.sentences else "no_model"
        said = ""
        if seen.weights.size_bytes > usable:
            code, said = "weights_do_not_fit", of_card(seen.plan, seen.weights.size_bytes)
        return ANSWERS.say(code, said, evidence=(seen.detail,) if seen.detail else ())
    room = room_for(seen.shape, seen.weights, seen.plan, usable)
    code = room.code(limits.differs_max)
    said = seen.shape.quantised if code == "quantised" else room.said(code)
    return ANSWERS.say(code, said, figures=figures_of(room.found), evidence=lines_of(room))


def controls(limits: Limits) -> Iterable[Control]:
    """An ordinary 8 B model, both sides of the card, and every way not to be a base."""
    for case in cases(limits.differs_max, 1 - limits.reserve_share):
        world = model_world(model=case.model, plan=case.plan, kernels=case.kernels)
        yield ANSWERS.control(case.name, case.code, world)
    yield from model_controls(
        ANSWERS, lambda facts: model_world(model=facts, plan=PLAN, kernels=NOBODY)
    )


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="fits_for_training",
        stage=Stage.VIABILITY,
        scope=Scope.BOX,
        severity=Severity.CRITICAL,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        reads=("kernels", "model", "plan"),
        runbook=__doc__ or "",
    )
