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
measured step. Nothing here splits a model over cards.

When it fires: shorten the sequence or the micro-batch, or take a smaller base;
`weights_are_pointers` wants `git lfs pull`. When it is `too_close`, measure one step's peak and
give it with `--measured-peak`: the bounds close around it. When `kernels_decide`, name the
interpreter that will train with `--python`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pfid.analysis.memory.account import account
from pfid.analysis.memory.bounds import Bytes
from pfid.analysis.memory.packed import is_trainable_packed
from pfid.analysis.memory.room import Room, of_card, room_for
from pfid.analysis.memory.told import figures_of, lines_of
from pfid.domain.model import FUSING, Layer, Mixer, ModelShape
from pfid.domain.training_plan import Loss, Method, Plan
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
from pfid.spec.fakes_viability import DENSE, GIB, HYBRID, ON_DISK, PLAN, model, model_world
from pfid.spec.model_answers import MODEL_ANSWERS, model_controls
from pfid.spec.ports.viability import KernelFacts, ModelFacts

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
WHOLE: Final = replace(PLAN, loss=Loss.WHOLE)
LONG: Final = replace(PLAN, sequence=65536)
CHUNKED: Final = "fits_with_chunked_loss"
NOBODY: Final = KernelFacts(problem="python_not_configured")
HAS: Final = KernelFacts(
    transformers="5.24.0",
    needed=("fla:chunk_gated_delta_rule", "causal_conv1d:causal_conv1d_fn"),
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
    code = _code(room, limits)
    said = seen.shape.quantised if code == "quantised" else room.said(code)
    return ANSWERS.say(code, said, figures=figures_of(room.found), evidence=lines_of(room))


def _code(room: Room, limits: Limits) -> str:
    weights, found = room.weights, room.found
    lost = weights.missing > 0 and (weights.on_disk > 0 or weights.pointers > 0)
    doubts = (
        ("quantised", _is_no_base(room)),
        ("weights_do_not_fit", room.weights_at_least > room.usable_bytes),
        ("weights_are_pointers", weights.pointers > 0),
        ("shards_missing", lost),
        ("shards_outside", weights.outside > 0),
        ("shards_unreadable", bool(weights.broken)),
        ("sizes_disagree", found.differs is not None and found.differs > limits.differs_max),
        ("shapes_unknown", found.peak is None),
        ("measurement_contradicts", found.contradicted),
    )
    return next((code for code, holds in doubts if holds), None) or room.by_peak


def _is_no_base(room: Room) -> bool:
    """Packed weights are one for adapters over bitsandbytes alone, which `qlora` means."""
    adapts = room.plan.method is Method.QLORA and is_trainable_packed(room.shape)
    return bool(room.shape.quantised) and not adapts


def controls(limits: Limits) -> Iterable[Control]:
    """An ordinary 8 B model, both sides of the card, and every way not to be a base."""
    found = account(DENSE, ON_DISK, WHOLE)
    low, high = found.peak.whole.low, found.peak.whole.high  # type: ignore[union-attr]
    share, sliver = 1 - limits.reserve_share, GIB / 64
    yield _control("card has room", "fits")
    yield _control("just above", "fits", plan=_card(high / share + sliver))
    yield _control("just below the bounds' top", "too_close", plan=_card(high / share - sliver))
    yield _control("just above the bounds' foot", "too_close", plan=_card(low / share + sliver))
    yield _control("below", "does_not_fit", plan=_card(low / share - sliver))
    yield _control("weights alone", "weights_do_not_fit", plan=_card(12 * GIB))
    yield _control(
        "same, no shapes", "weights_do_not_fit", model(None, problem="no_model"), _card(12 * GIB)
    )
    long = replace(PLAN, sequence=32768)
    yield _control("chunks only", "fits_with_chunked_loss", plan=_above(long, share))
    yield _control("packed", "quantised", model(replace(DENSE, quantised="FP8")))
    four = model(replace(DENSE, quantised="bitsandbytes 4-bit", quantised_bits=4), Weights())
    yield _control("packed for adapters", "fits", four, replace(WHOLE, method=Method.QLORA))
    yield _control("packed, plain adapters", "quantised", four)
    yield _control(
        "packed otherwise",
        "quantised",
        model(replace(DENSE, quantised="GPTQ", quantised_bits=4)),
        replace(WHOLE, method=Method.QLORA),
    )
    yield _control("pointers", "weights_are_pointers", _files(pointers=4, on_disk=0))
    yield _control("one lost", "shards_missing", _files(missing=1, on_disk=3))
    yield _control("only an index", "fits", _files(missing=4, on_disk=0, source="index"))
    yield _control("traversal", "shards_outside", _files(outside=1))
    yield _control("cut off", "shards_unreadable", _files(broken=("a: cut off",)))
    for name, code, factor in (("little", "fits", 0.95), ("much", "sizes_disagree", 1.05)):
        told = int(found.counted.high / (1 - limits.differs_max * factor))
        files = _files(parameters=told, size_bytes=2 * told)
        yield _control(f"differ by {name}", code, files)
    middle = (low + high) / 2
    for name, code, beside in (("above", "fits", GIB), ("below", "does_not_fit", -GIB)):
        measured = replace(_card(middle / share + beside / 8), measured_bytes=int(middle))
        yield _control(f"{name} what was measured", code, plan=measured)
    yield _control(
        "measured too small", "measurement_contradicts", plan=replace(PLAN, measured_bytes=GIB)
    )
    yield from _recurrent_controls(share)
    unknown = replace(DENSE, layers=(replace(DENSE.layers[0], recurrence=None, mixer=Mixer.MAMBA),))
    yield _control("untold layers", "shapes_unknown", model(unknown, Weights()))
    yield from model_controls(
        ANSWERS, lambda facts: model_world(model=facts, plan=PLAN, kernels=NOBODY)
    )


def _recurrent_controls(share: float) -> Iterable[Control]:
    """One card between what a hybrid takes with its kernels and what it takes without."""
    hybrid = model(HYBRID, Weights())
    fused = _peak(replace(LONG, fused=True)).high
    between = _sized(LONG, (fused + _peak(replace(LONG, fused=False)).low) / 2 / share)
    lost = tuple((name, "ModuleNotFoundError: fla") for name in HAS.needed[:1])
    step = replace(HAS, missing=(("fla:fused_recurrent_gated_delta_rule", "ImportError"),))
    yield _control("with kernels", CHUNKED, hybrid, between, HAS)
    yield _control("without kernels", "does_not_fit", hybrid, between, replace(HAS, missing=lost))
    yield _control("kernels untold", "kernels_decide", hybrid, between)
    yield _control(
        "too close even with kernels", "too_close", hybrid, _sized(LONG, fused / share - GIB / 64)
    )
    yield _control("looks for no kernel", "kernels_decide", hybrid, between, KernelFacts())
    yield _control("without those of one token", CHUNKED, hybrid, between, step)
    yield _control("room for either", "fits", hybrid)
    yield _control("room for neither", "does_not_fit", hybrid, _sized(PLAN, 1.5 * GIB))
    above, below = (_sized(LONG, fused / share + by) for by in (GIB / 64, -GIB / 64))
    yield _control("just above with kernels", CHUNKED, hybrid, above, HAS)
    yield _control("just below with kernels", "too_close", hybrid, below, HAS)
    other = replace(HYBRID, layers=tuple(map(_unaccounted, HYBRID.layers)))
    yield _control("another recurrence", "recurrent_unmeasured", model(other, Weights()))
    measured = replace(PLAN, measured_bytes=20 * GIB)
    yield _control("the same, measured", "fits", model(other, Weights()), measured)
    short = replace(HYBRID, layers=tuple(map(_convolution, HYBRID.layers)))
    yield _control("short convolutions", "fits", model(short, Weights()))


def _control(
    name: str,
    code: str,
    facts: ModelFacts | None = None,
    plan: Plan | None = None,
    kernels: KernelFacts | None = None,
) -> Control:
    world = model_world(model=facts or model(), plan=plan or PLAN, kernels=kernels or NOBODY)
    return ANSWERS.control(name, code, world)


def _convolution(layer: Layer) -> Layer:
    return replace(layer, mixer=Mixer.CONV) if layer.recurrence is not None else layer


def _unaccounted(layer: Layer) -> Layer:
    told = layer.recurrence
    return replace(layer, recurrence=replace(told, chunk=0)) if told is not None else layer


def _peak(plan: Plan) -> Bytes:
    return account(HYBRID, Weights(), plan).peak.whole  # type: ignore[union-attr]


def _sized(plan: Plan, size: float) -> Plan:
    return replace(plan, gpu_memory_bytes=int(size))


def _card(size: float) -> Plan:
    return replace(WHOLE, gpu_memory_bytes=int(size))


def _above(plan: Plan, share: float) -> Plan:
    """A card that has just room for a plan's upper bound."""
    found = account(DENSE, ON_DISK, plan).peak
    size = found.whole.high / share + GIB / 64 if found is not None else 0
    return replace(plan, gpu_memory_bytes=int(size))


def _files(**changed: object) -> ModelFacts:
    return model(weights=replace(ON_DISK, **changed))  # type: ignore[arg-type]


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
