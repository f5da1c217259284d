"""Models, plans and cards whose answer is known: either side of every bound, and no base at all."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from pfid.analysis.memory.account import account
from pfid.analysis.memory.bounds import Bytes
from pfid.domain.model import Layer, Mixer, ModelShape
from pfid.domain.training_plan import Loss, Method, Plan
from pfid.domain.weights import Weights
from pfid.spec.fakes_viability import DENSE, GIB, HYBRID, ON_DISK, PLAN, model
from pfid.spec.ports.viability import KernelFacts, ModelFacts

WHOLE: Final = replace(PLAN, loss=Loss.WHOLE)
LONG: Final = replace(PLAN, sequence=65536)
CHUNKED: Final = "fits_with_chunked_loss"
SLIVER: Final = GIB // 64
NOBODY: Final = KernelFacts(problem="python_not_configured")
HAS: Final = KernelFacts(
    transformers="5.24.0",
    needed=("fla:chunk_gated_delta_rule", "causal_conv1d:causal_conv1d_fn"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model on a card, and what must be said of it."""

    name: str
    code: str
    model: ModelFacts
    plan: Plan
    kernels: KernelFacts


def cases(differs_max: float, share: float) -> Iterator[Case]:
    """Every case.

    Args:
        differs_max: share by which files and shapes may disagree.
        share: of the card that may be used.
    """
    yield from _dense(share)
    yield from _no_bases(differs_max)
    yield from _strangers(share)
    yield from _measured(share)
    yield from _hybrids(share)
    yield from _recurrences()
    unknown = replace(DENSE, layers=(replace(DENSE.layers[0], recurrence=None, mixer=Mixer.MAMBA),))
    yield _case("untold layers", "shapes_unknown", model(unknown, Weights()))


def _dense(share: float) -> Iterator[Case]:
    found = _peak(DENSE, ON_DISK, WHOLE)
    yield _case("card has room", "fits")
    yield _case("just above", "fits", plan=_card(found.high / share + SLIVER))
    yield _case("just below the bounds' top", "too_close", plan=_card(found.high / share - SLIVER))
    yield _case("just above the bounds' foot", "too_close", plan=_card(found.low / share + SLIVER))
    yield _case("below", "does_not_fit", plan=_card(found.low / share - SLIVER))
    yield _case("weights alone", "weights_do_not_fit", plan=_card(12 * GIB))
    none = model(None, problem="no_model")
    yield _case("same, no shapes", "weights_do_not_fit", none, _card(12 * GIB))
    long = replace(PLAN, sequence=32768)
    room = _peak(DENSE, ON_DISK, long).high / share + SLIVER
    yield _case("chunks only", CHUNKED, plan=_sized(long, room))


def _no_bases(differs_max: float) -> Iterator[Case]:
    adapters = replace(WHOLE, method=Method.QLORA)
    yield _case("packed", "quantised", model(replace(DENSE, quantised="FP8")))
    four = model(replace(DENSE, quantised="bitsandbytes 4-bit", quantised_bits=4), Weights())
    yield _case("packed for adapters", "fits", four, adapters)
    yield _case("packed, plain adapters", "quantised", four)
    gptq = model(replace(DENSE, quantised="GPTQ", quantised_bits=4))
    yield _case("packed otherwise", "quantised", gptq, adapters)
    yield _case("pointers", "weights_are_pointers", _files(pointers=4, on_disk=0))
    yield _case("one lost", "shards_missing", _files(missing=1, on_disk=3))
    yield _case("only an index", "fits", _files(missing=4, on_disk=0, source="index"))
    yield _case("traversal", "shards_outside", _files(outside=1))
    yield _case("cut off", "shards_unreadable", _files(broken=("a: cut off",)))
    counted = account(DENSE, ON_DISK, WHOLE).counted.high
    for name, code, factor in (("little", "fits", 0.95), ("much", "sizes_disagree", 1.05)):
        told = int(counted / (1 - differs_max * factor))
        files = replace(ON_DISK, parameters=told, size_bytes=2 * told)
        yield _case(f"differ by {name}", code, model(weights=files))
        heads = replace(files, mtp_tensors=9, mtp_parameters=told - int(counted))
        yield _case(f"differ by {name}, of further heads", "fits", model(weights=heads))


def _strangers(share: float) -> Iterator[Case]:
    """The same shapes, of a type that nobody held against anything."""
    shape = replace(DENSE, held=False)
    bounds = _peak(shape, ON_DISK, PLAN)
    top, foot = bounds.high / share, bounds.low / share
    for name, code, size in (
        ("above", "fits", top + SLIVER),
        ("just within", "activations_never_held", top - SLIVER),
        ("within", "activations_never_held", foot + SLIVER),
        ("below", "does_not_fit", foot - SLIVER),
    ):
        yield _case(f"a stranger {name}", code, model(shape), _sized(PLAN, size))
    measured = replace(_sized(PLAN, top - SLIVER), measured_bytes=int(bounds.low))
    yield _case("a stranger, measured", "fits", model(shape), measured)


def _measured(share: float) -> Iterator[Case]:
    found = _peak(DENSE, ON_DISK, WHOLE)
    middle = (found.low + found.high) / 2
    for name, code, beside in (("above", "fits", GIB), ("below", "does_not_fit", -GIB)):
        plan = replace(_card(middle / share + beside / 8), measured_bytes=int(middle))
        yield _case(f"{name} what was measured", code, plan=plan)
    small = replace(PLAN, measured_bytes=GIB)
    yield _case("measured too small", "measurement_contradicts", plan=small)


def _hybrids(share: float) -> Iterator[Case]:
    """One card between what a hybrid takes with its kernels and what it takes without."""
    hybrid = model(HYBRID, Weights())
    fused = _peak(HYBRID, Weights(), replace(LONG, fused=True)).high
    plain = _peak(HYBRID, Weights(), replace(LONG, fused=False)).low
    between = _sized(LONG, (fused + plain) / 2 / share)
    above, below = (_sized(LONG, fused / share + by) for by in (SLIVER, -SLIVER))
    lost = replace(HAS, missing=((HAS.needed[0], "ModuleNotFoundError: fla"),))
    step = replace(HAS, missing=(("fla:fused_recurrent_gated_delta_rule", "ImportError"),))
    yield _case("with kernels", CHUNKED, hybrid, between, HAS)
    yield _case("without kernels", "does_not_fit", hybrid, between, lost)
    yield _case("kernels untold", "kernels_decide", hybrid, between)
    yield _case("too close even with kernels", "too_close", hybrid, below)
    yield _case("looks for no kernel", "kernels_decide", hybrid, between, KernelFacts())
    yield _case("without those of one token", CHUNKED, hybrid, between, step)
    yield _case("room for either", "fits", hybrid)
    yield _case("room for neither", "does_not_fit", hybrid, _sized(PLAN, 1.5 * GIB))
    yield _case("just above with kernels", CHUNKED, hybrid, above, HAS)
    yield _case("just below with kernels", "too_close", hybrid, below, HAS)


def _recurrences() -> Iterator[Case]:
    other = model(replace(HYBRID, layers=tuple(map(_unaccounted, HYBRID.layers))), Weights())
    yield _case("another recurrence", "recurrent_unmeasured", other)
    measured = replace(PLAN, measured_bytes=20 * GIB)
    yield _case("the same, measured", "fits", other, measured)
    short = replace(HYBRID, layers=tuple(map(_convolution, HYBRID.layers)))
    yield _case("short convolutions", "fits", model(short, Weights()))


def _case(
    name: str,
    code: str,
    facts: ModelFacts | None = None,
    plan: Plan = PLAN,
    kernels: KernelFacts = NOBODY,
) -> Case:
    return Case(name=name, code=code, model=facts or model(), plan=plan, kernels=kernels)


def _convolution(layer: Layer) -> Layer:
    return replace(layer, mixer=Mixer.CONV) if layer.recurrence is not None else layer


def _unaccounted(layer: Layer) -> Layer:
    told = layer.recurrence
    return replace(layer, recurrence=replace(told, chunk=0)) if told is not None else layer


def _peak(shape: ModelShape, weights: Weights, plan: Plan) -> Bytes:
    found = account(shape, weights, plan).peak
    return found.whole if found is not None else Bytes(0, 0)


def _sized(plan: Plan, size: float) -> Plan:
    return replace(plan, gpu_memory_bytes=int(size))


def _card(size: float) -> Plan:
    return _sized(WHOLE, size)


def _files(**changed: object) -> ModelFacts:
    return model(weights=replace(ON_DISK, **changed))  # type: ignore[arg-type]
