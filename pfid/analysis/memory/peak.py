"""The peak of a training step: what stays, and the worst moment of what comes and goes.

Moments that are weighed: the loss head, each layer's backward pass (with every kept activation
before it and every gradient behind it), and the optimizer's step. Source: playbook 3.11 (check 1:
the peak, not the weights).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pfid.analysis.memory.activations import LayerBytes, layer_bytes
from pfid.analysis.memory.bounds import NOTHING, Bytes, exactly, total
from pfid.analysis.memory.counted import FLOAT, HALF, Counted
from pfid.analysis.memory.parameters import count_parameters
from pfid.analysis.memory.resident import Resident, resident
from pfid.domain.model import ModelShape
from pfid.domain.training_plan import Loss, Method, Plan

GIB: Final = 1 << 30
CONTEXT: Final = Bytes(0.35 * GIB, 0.75 * GIB)
"""What a CUDA context and its libraries hold before the first tensor."""
SLACK: Final = Bytes(0.0, 0.085)
"""What the caching allocator holds and nobody uses, as share of what comes and goes: most of what
the one peak that is published with its shapes leaves unexplained."""
LOGITS: Final = Bytes(HALF + 2.25 * FLOAT, HALF + 2.75 * FLOAT)
"""Bytes a logit while a loss in float32 goes backward: rounded, log-softmax, its gradients, of
which the last is rounded when it comes (12.0 by the slope over vocabulary and tokens)."""
SOFT_CAP: Final = Bytes(HALF, 2 * HALF)
"""More of them where the logits pass a soft cap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of the account."""

    name: str
    size: Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The account at its worst moment.

    Attributes:
        items: that stand at that moment, largest kinds apart.
        moment: ``loss``, ``layer`` or ``step``.
        whole: their sum.
        trained: parameters that train.
        logits_whole: what the logits of the whole micro-batch would take.
    """

    items: tuple[Item, ...]
    moment: str
    whole: Bytes
    trained: int
    logits_whole: Bytes

    @property
    def apart(self) -> float:
        """Half the bounds' width as a share of their middle."""
        return (self.whole.high - self.whole.low) / (self.whole.high + self.whole.low)


def training_peak(shape: ModelShape, weights_bytes: Bytes, plan: Plan) -> Peak:
    """Weigh every moment.

    Args:
        shape: of the model, with every layer told.
        weights_bytes: as the checkpoint would be loaded.
        plan: how it is trained.
    """
    parameters = count_parameters(shape)
    held = resident(shape, parameters, weights_bytes, plan)
    each = {layer: layer_bytes(layer, shape, plan) for layer in set(shape.layers)}
    layers = [each[layer] for layer in shape.layers]
    moments = {
        "loss": _at_loss(shape, layers, held, plan),
        "layer": _at_layer(shape, layers, held, plan),
        "step": {"gradients": held.gradients, "optimizer_temporaries": held.temporaries},
    }
    moment = max(moments, key=lambda name: total(moments[name].values()).high)
    floor = max(total(of.values()).low for of in moments.values())
    fixed = {
        "weights": held.weights,
        "adapter": held.adapter,
        "optimizer_states": held.states,
    }
    moving = moments[moment]
    slack = exactly(total(moving.values()).high * SLACK.high)
    items = {**fixed, **moving, "allocator_slack": Bytes(0, slack.high), "context": CONTEXT}
    whole = total(items.values())
    lowest = total(fixed.values()).low + floor + CONTEXT.low
    return Peak(
        items=tuple(Item(name=name, size=size) for name, size in items.items() if size.high),
        moment=moment,
        whole=Bytes(max(whole.low, lowest), whole.high),
        trained=held.trained,
        logits_whole=_logits(shape, plan.tokens),
    )


def _logits(shape: ModelShape, tokens: float) -> Bytes:
    each = LOGITS + (SOFT_CAP if shape.soft_capped else NOTHING)
    return each.times(tokens * shape.vocabulary)


def _head(shape: ModelShape, plan: Plan) -> Bytes:
    whole = plan.loss is Loss.WHOLE
    return _logits(shape, plan.tokens if whole else min(plan.tokens, plan.loss_chunk))


def _stream(shape: ModelShape, plan: Plan) -> float:
    """One copy of the residual stream."""
    return float(Counted(plan=plan).width * shape.hidden * plan.tokens)


def _kept(shape: ModelShape, layers: Sequence[LayerBytes], plan: Plan) -> Bytes:
    """Activations of all layers before backward begins."""
    one = _stream(shape, plan)
    if plan.checkpointing:
        return Bytes(one * len(layers), one * (len(layers) + 2))
    return total(layer.kept for layer in layers) + exactly(one)


def _at_loss(
    shape: ModelShape, layers: Sequence[LayerBytes], held: Resident, plan: Plan
) -> dict[str, Bytes]:
    one = _stream(shape, plan)
    return {
        "activations": _kept(shape, layers, plan),
        "logits": _head(shape, plan),
        "loss_head": Bytes(one, 4 * one),
        "gradients": held.gradients if plan.accumulates else NOTHING,
    }


def _at_layer(
    shape: ModelShape, layers: Sequence[LayerBytes], held: Resident, plan: Plan
) -> dict[str, Bytes]:
    """The worst layer of the backward pass, from the last to the first."""
    embedded = shape.vocabulary * shape.hidden / max(1, count_parameters(shape).middle)
    best: dict[str, Bytes] = {}
    kept = _before(shape, layers, plan)
    for at in reversed(range(len(layers))):
        layer, behind = layers[at], len(layers) - 1 - at
        moment = {
            "activations": kept[at] if plan.checkpointing else kept[at] + layer.standing,
            "layer": layer.standing if plan.checkpointing else NOTHING,
            "layer_backward": layer.beside,
            "attention_workspace": layer.workspace,
            "gradients": held.gradients.shared(
                _arrived(behind / len(layers), 1 / len(layers), embedded, shape, plan)
            ),
        }
        if not best or total(moment.values()).high > total(best.values()).high:
            best = moment
    return best


def _before(shape: ModelShape, layers: Sequence[LayerBytes], plan: Plan) -> list[Bytes]:
    """Activations of all layers before each, while it goes backward."""
    one = _stream(shape, plan)
    if plan.checkpointing:
        return [Bytes(one * (at + 1), one * (at + 3)) for at in range(len(layers))]
    found = [exactly(one)]
    for layer in layers[:-1]:
        found.append(found[-1] + layer.kept)
    return found


def _arrived(behind: float, own: float, embedded: float, shape: ModelShape, plan: Plan) -> Bytes:
    """Share of the gradients that are there while a layer goes backward.

    Args:
        behind: share of the layers that are through.
        own: share of this one.
        embedded: share of the parameters in the embedding.
        shape: whether the head is the embedding.
        plan: what trains.
    """
    if plan.accumulates:
        return exactly(1.0)
    if plan.method is not Method.FULL:
        return Bytes(behind, behind + own)
    body = 1 - embedded * (1 if shape.tied else 2)
    return Bytes(embedded + body * behind, embedded + body * (behind + own))
