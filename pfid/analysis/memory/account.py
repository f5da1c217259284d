"""A model's weights and peak on one card: files held against shapes, a measurement against both."""

from dataclasses import dataclass, replace
from typing import Final

from pfid.analysis.memory.bounds import Bytes, exactly, total
from pfid.analysis.memory.further_heads import further_heads
from pfid.analysis.memory.packed import packed_bytes
from pfid.analysis.memory.parameters import Parameters, count_parameters
from pfid.analysis.memory.peak import Item, Peak, training_peak
from pfid.analysis.memory.resident import DTYPE_BYTES
from pfid.domain.model import Layer, ModelShape
from pfid.domain.training_plan import Loss, Plan
from pfid.domain.weights import Weights

CALIBRATED: Final = 0.05
"""How far a peak at other lengths may lie from one that was scaled by a measurement."""
MOVING: Final = frozenset(
    {
        "activations",
        "layer",
        "layer_backward",
        "attention_workspace",
        "logits",
        "loss_head",
        "allocator_slack",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What is known of a model on one card.

    Attributes:
        counted: parameters by the shapes.
        parameters: bounds, from the files where they tell.
        weights: bytes as they would be loaded.
        differs: by which share files and shapes disagree beyond the shapes' own bounds; None if
            the files do not tell.
        peak: of the plan; None if a layer's shapes are not told.
        whole: the same with the logits of the whole micro-batch.
        calibrated: by which factor a measurement moved what comes and goes; None without one.
        contradicted: whether the measurement is less than what stays in memory.
    """

    counted: Parameters
    parameters: tuple[int, int]
    weights: Bytes
    differs: float | None
    peak: Peak | None
    whole: Peak | None
    calibrated: float | None = None
    contradicted: bool = False


def account(shape: ModelShape, weights: Weights, plan: Plan) -> Account:
    """Join what shapes and files say."""
    shape = _joined(shape, weights)
    counted = count_parameters(shape)
    size = DTYPE_BYTES.get(shape.dtype, 2)
    told = _told(shape, weights, size)
    low, high = (told, told) if told else (counted.low, counted.high)
    held = _held(shape, weights, counted, Bytes(low * size, high * size))
    found = Account(
        counted=counted,
        parameters=(low, high),
        weights=held,
        differs=_differs(told, further_heads(shape, weights), counted),
        peak=training_peak(shape, held, plan) if counted.known else None,
        whole=training_peak(shape, held, replace(plan, loss=Loss.WHOLE)) if counted.known else None,
    )
    return _calibrated(found, shape, plan)


def _held(shape: ModelShape, weights: Weights, counted: Parameters, plain: Bytes) -> Bytes:
    """As they lie, if the files tell; packed ones by the width of their format."""
    if weights.size_bytes:
        further = further_heads(shape, weights).times(DTYPE_BYTES.get(shape.dtype, 2))
        return Bytes(max(0.0, weights.size_bytes - further.high), weights.size_bytes)
    return packed_bytes(shape, counted) if shape.quantised else plain


def _joined(shape: ModelShape, weights: Weights) -> ModelShape:
    """What only the names of tensors tell, put into the shapes."""
    told = any(layer.attention is not None and layer.attention.sinks for layer in shape.layers)
    if weights.sinks and not told:
        shape = replace(shape, layers=tuple(_with_sinks(layer) for layer in shape.layers))
    return replace(
        shape,
        norms=_most(weights.norms, shape.norms),
        norms_behind=shape.norms_behind if weights.norms_behind is None else weights.norms_behind,
        head_norms=_either(weights.head_norms, shape.head_norms),
        joined=shape.joined if weights.joined is None else weights.joined,
        norms_biased=weights.norms_biased,
    )


def _most(named: int | None, told: int | None) -> int | None:
    """Norms without a weight have no name."""
    return max((n for n in (named, told) if n), default=None)


def _either(named: bool | None, told: bool | None) -> bool | None:  # noqa: FBT001
    """Whether one of them says so."""
    return named if told is None else (named or told)


def _with_sinks(layer: Layer) -> Layer:
    if layer.attention is None:
        return layer
    return replace(layer, attention=replace(layer.attention, sinks=True))


def _told(shape: ModelShape, weights: Weights, size: int) -> int | None:
    """Parameters by the files; packed formats do not tell them."""
    if shape.quantised or not weights.size_bytes:
        return None
    return weights.parameters or weights.size_bytes // size


def _differs(told: int | None, further: Bytes, counted: Parameters) -> float | None:
    """Heads that predict further tokens lie among the files and are none of the decoder's."""
    if told is None or not counted.known:
        return None
    decoder = exactly(told).less(further)
    beyond = max(counted.low - decoder.high, decoder.low - counted.high, 0)
    return beyond / told


def _calibrated(found: Account, shape: ModelShape, plan: Plan) -> Account:
    """Scale what comes and goes so that it explains the measured peak."""
    if plan.measured_bytes is None or found.peak is None or found.whole is None:
        return found
    there = replace(
        plan,
        sequence=plan.measured_sequence or plan.sequence,
        micro_batch=plan.measured_micro_batch or plan.micro_batch,
    )
    then = training_peak(shape, found.weights, there)
    fixed, moving = _apart(then)
    left = plan.measured_bytes - _middle(fixed)
    if left <= 0 or _middle(moving) <= 0:
        return replace(found, contradicted=True)
    factor = left / _middle(moving)
    same = there.tokens == plan.tokens and there.sequence == plan.sequence
    return replace(
        found,
        calibrated=factor,
        peak=_scaled(found.peak, factor, 0.0 if same else CALIBRATED),
        whole=_scaled(found.whole, factor, CALIBRATED),
    )


def _apart(peak: Peak) -> tuple[Bytes, Bytes]:
    moving = total(item.size for item in peak.items if item.name in MOVING)
    fixed = total(item.size for item in peak.items if item.name not in MOVING)
    return fixed, moving


def _middle(size: Bytes) -> float:
    return (size.low + size.high) / 2


def _scaled(peak: Peak, factor: float, doubt: float) -> Peak:
    items = tuple(_item(item, factor, doubt) for item in peak.items)
    return replace(peak, items=items, whole=total(item.size for item in items))


def _item(item: Item, factor: float, doubt: float) -> Item:
    middle = _middle(item.size)
    if item.name in MOVING:
        middle *= factor
        return Item(name=item.name, size=Bytes(middle * (1 - doubt), middle * (1 + doubt)))
    return Item(name=item.name, size=exactly(middle))
