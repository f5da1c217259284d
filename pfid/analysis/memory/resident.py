"""What stays in memory for a whole training: weights, gradients, optimizer states, adapters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pfid.analysis.memory.bounds import NOTHING, Bytes, exactly
from pfid.analysis.memory.counted import FLOAT, HALF
from pfid.analysis.memory.parameters import Parameters, is_told
from pfid.domain.model import Layer, ModelShape
from pfid.domain.training_plan import Method, Optimizer, Plan

DTYPE_BYTES: Final = {"float32": 4, "bfloat16": 2, "float16": 2, "float64": 8}
STATES: Final[Mapping[Optimizer, Bytes]] = {
    Optimizer.ADAMW: exactly(2.0),
    Optimizer.LION: exactly(1.0),
    Optimizer.SGD: NOTHING,
    Optimizer.ADAFACTOR: Bytes(0.0, 0.01),
}
"""Copies of the trained parameters that an optimizer keeps, in their own data type; SGD one more
where it has a momentum."""
EIGHT_BIT: Final = 2.03
"""Bytes a parameter of Adam's states in eight bits, block constants included."""
IN_FULL: Final = 8.0
"""The same of an embedding, whose states Trainer has bitsandbytes keep in float32."""
SINGLE_STEP: Final[Mapping[Optimizer, Bytes]] = {
    Optimizer.LION: Bytes(0.0, 2.0),
    Optimizer.ADAFACTOR: exactly(2.0),
}
"""Copies of the largest tensor while an optimizer steps tensor by tensor: Lion none in the kernel
of bitsandbytes, two as published; transformers' Adafactor two, beside a weight and a gradient in
float32 where they are in less. Eight-bit Adam and SGD make none."""
STEPPING: Final = frozenset({Optimizer.ADAMW, *SINGLE_STEP})
FOUR_BIT: Final = Bytes(0.516, 0.5625)
"""Bytes a parameter of NF4 with and without double quantisation (bitsandbytes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """Bytes by what they are for.

    Attributes:
        weights: of the model, as trained.
        trained: parameters that train.
        gradients: of all of them.
        states: of the optimizer.
        adapter: adapters' own parameters; nothing for a full training.
        temporaries: of an optimizer's step that goes over all parameters at once.
    """

    weights: Bytes
    trained: int
    gradients: Bytes
    states: Bytes
    adapter: Bytes
    temporaries: Bytes


def resident(
    shape: ModelShape, parameters: Parameters, weights_bytes: Bytes, plan: Plan
) -> Resident:
    """Count what stays.

    Args:
        shape: of the model.
        parameters: counted from the shapes.
        weights_bytes: of the checkpoint as it would be loaded.
        plan: how it is trained.
    """
    if plan.method is Method.FULL:
        factor = FLOAT / DTYPE_BYTES.get(shape.dtype, HALF) if plan.float32 else 1.0
        each = FLOAT if plan.float32 else DTYPE_BYTES.get(shape.dtype, HALF)
        trained = parameters.middle
        held = weights_bytes.times(factor)
        return Resident(
            weights=held,
            trained=trained,
            gradients=held,
            states=_states(plan, trained, each) + _embedded(parameters, plan),
            adapter=NOTHING,
            temporaries=_temporaries(shape, parameters, plan, held),
        )
    trained = adapter_parameters(shape, plan.rank)
    least = HALF if plan.float32 is False else FLOAT
    lie = plan.method is Method.LORA or bool(shape.quantised)
    weights = weights_bytes if lie else _shrunk(shape, parameters, plan)
    return Resident(
        weights=weights,
        trained=trained,
        gradients=Bytes(least * trained, FLOAT * trained),
        states=_states(plan, trained, FLOAT),
        adapter=Bytes(least * trained, FLOAT * trained),
        temporaries=Bytes(0, FLOAT * trained) if plan.optimizer in STEPPING else NOTHING,
    )


def _temporaries(shape: ModelShape, parameters: Parameters, plan: Plan, held: Bytes) -> Bytes:
    """Of a full training's step.

    Torch's AdamW copies nothing where it is fused (Trainer's default), and takes the roots of all
    second moments at once with foreach (torch's own default on CUDA).
    """
    if plan.optimizer is Optimizer.ADAMW:
        return Bytes(0, held.high)
    copies = SINGLE_STEP.get(plan.optimizer, NOTHING)
    each = FLOAT if plan.float32 else DTYPE_BYTES.get(shape.dtype, HALF)
    if plan.optimizer is Optimizer.ADAFACTOR and each < FLOAT:
        copies, each = copies + exactly(2.0), FLOAT
    least, most = parameters.embedding, _largest(shape, parameters)
    return Bytes(copies.low * each * least, copies.high * each * most)


def _largest(shape: ModelShape, parameters: Parameters) -> int:
    """Elements of the largest tensor: the embedding, or the fused gates of one layer's experts."""
    fused = (
        (2 if feed.gated else 1) * feed.experts * feed.expert * shape.hidden
        for feed in (layer.feed for layer in set(shape.layers))
    )
    return max(parameters.embedding, *fused)


def _embedded(parameters: Parameters, plan: Plan) -> Bytes:
    """What an eight-bit optimizer keeps more of an embedding."""
    if plan.optimizer is not Optimizer.ADAMW_8BIT:
        return NOTHING
    return exactly((IN_FULL - EIGHT_BIT) * parameters.embedding)


def _states(plan: Plan, trained: int, each: int) -> Bytes:
    if plan.optimizer is Optimizer.ADAMW_8BIT:
        return exactly(EIGHT_BIT * trained)
    copies = STATES[plan.optimizer]
    if plan.optimizer is Optimizer.SGD and plan.momentum:
        copies = exactly(1.0)
    high = copies.times(each * trained)
    half = plan.method is not Method.FULL and plan.float32 is False
    return Bytes(high.low / 2 if half else high.low, high.high)


def _shrunk(shape: ModelShape, parameters: Parameters, plan: Plan) -> Bytes:
    """Four bits reach plain linear modules alone: no embedding, no head, no fused experts.

    What is prepared for training in float32 may keep embedding and head in it.
    """
    kept = parameters.experts + parameters.embedding * (1 if shape.tied else 2)
    linear = Bytes(max(0, parameters.low - kept), max(0, parameters.high - kept))
    small = Bytes(linear.low * FOUR_BIT.low, linear.high * FOUR_BIT.high)
    embedded = parameters.embedding * (1 if shape.tied else 2)
    return small + exactly(HALF * kept) + Bytes(0, HALF * embedded if plan.float32 else 0)


def adapter_parameters(shape: ModelShape, rank: int) -> int:
    """Parameters of adapters on every linear module of the decoder's layers but fused experts."""
    return rank * sum(_reach(layer, shape.hidden) for layer in shape.layers if is_told(layer))


def _reach(layer: Layer, hidden: int) -> int:
    """In and out widths of the linear modules of one layer, in sum."""
    found, feed = 0, layer.feed
    if layer.attention is not None:
        a = layer.attention
        across = a.heads * a.head_dim * (2 if a.gated else 1)
        keys = 0 if a.reuses_kv else a.kv_heads * a.head_dim + hidden
        values = 0 if a.reuses_kv or a.shares_kv else a.kv_heads * a.value_dim + hidden
        found += hidden + across + keys + values + a.heads * a.value_dim + hidden
    if layer.recurrence is not None:
        r = layer.recurrence
        found += hidden + 2 * r.inner + r.keys + r.inner + hidden
    inner = feed.dense + feed.shared
    return found + ((3 if feed.gated else 2) * (hidden + inner) if inner else 0)
