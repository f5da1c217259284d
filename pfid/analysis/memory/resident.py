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
    Optimizer.SGD: Bytes(0.0, 1.0),
    Optimizer.ADAFACTOR: Bytes(0.0, 0.01),
}
"""Copies of the trained parameters that an optimizer keeps, in their own data type."""
EIGHT_BIT: Final = 2.03
"""Bytes a parameter of Adam's states in eight bits, block constants included."""
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
            states=_states(plan, trained, each),
            adapter=NOTHING,
            temporaries=Bytes(0, held.high),
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
        temporaries=Bytes(0, FLOAT * trained),
    )


def _states(plan: Plan, trained: int, each: int) -> Bytes:
    if plan.optimizer is Optimizer.ADAMW_8BIT:
        return exactly(EIGHT_BIT * trained)
    high = STATES[plan.optimizer].times(each * trained)
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
