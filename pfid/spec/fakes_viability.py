"""Models and plans with fixed facts, for controls and tests of the viability stage."""

from dataclasses import replace
from typing import Any, Final

from pfid.domain.model import Attention, FeedForward, Layer, Mixer, ModelShape, Recurrence
from pfid.domain.training_plan import Plan
from pfid.domain.verdict import Entity, EntityKind
from pfid.domain.weights import Weights
from pfid.spec.fakes_facts import FixedFacts
from pfid.spec.ports.viability import ModelFacts
from pfid.spec.world import World

GIB: Final = 1 << 30
CONTROL_MODEL: Final = Entity(EntityKind.MODEL, "control")
DENSE_LAYER: Final = Layer(
    mixer=Mixer.FULL,
    attention=Attention(heads=32, kv_heads=8, head_dim=128, value_dim=128),
    feed=FeedForward(dense=14336),
)
DENSE: Final = ModelShape(
    source="config.json",
    model_type="llama",
    classes=("LlamaForCausalLM",),
    hidden=4096,
    vocabulary=128256,
    tied=False,
    layers=(DENSE_LAYER,) * 32,
    dtype="bfloat16",
    held=True,
)
"""Shapes of an ordinary 8 B: 16 GB, nothing special."""
DELTA_LAYER: Final = Layer(
    mixer=Mixer.DELTA,
    recurrence=Recurrence(inner=2048, keys=4096, heads=16, taps=4, state=128, chunk=64),
    feed=FeedForward(dense=3584),
)
HYBRID: Final = replace(
    DENSE,
    model_type="control_hybrid",
    hidden=1024,
    layers=(*(DELTA_LAYER,) * 3, replace(DENSE_LAYER, feed=FeedForward(dense=3584))) * 6,
)
"""Three recurrent layers to one of attention, as the playbook's 0.8 B."""
ON_DISK: Final = Weights(
    source="headers",
    size_bytes=16_060_522_496,
    parameters=8_030_261_248,
    by_dtype=(("BF16", 16_060_522_496),),
    tensors=291,
    on_disk=4,
    has_head=True,
    vision_linears=0,
    mtp_tensors=0,
    text_prefix="model.layers",
    norms=2,
    head_norms=False,
)
PLAN: Final = Plan(gpu_memory_bytes=96 * GIB)


def model_world(**facts: Any) -> World:
    """World of a model of which the given subjects are known, by name, and nothing else."""
    ports: dict[str, Any] = {name: FixedFacts(known) for name, known in facts.items()}
    return World(subject=CONTROL_MODEL, **ports)


def model(shape: ModelShape | None = DENSE, weights: Weights = ON_DISK, **more: Any) -> ModelFacts:
    """An ordinary model, but for what is given."""
    return ModelFacts(shape=shape, weights=weights, **more)
