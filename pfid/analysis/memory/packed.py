"""Bytes of weights that lie quantised, where only the configuration tells of them.

Formats pack the matrices of linear modules and leave embedding, head and norms; which of the
matrices they leave as well (attention of some, the first layers of others) is told by no common
field, so that the bounds hold every matrix packed at the least, and the format's habit at the most.
"""

from typing import Final

from pfid.analysis.memory.bounds import Bytes
from pfid.analysis.memory.counted import HALF
from pfid.analysis.memory.parameters import Parameters
from pfid.domain.model import ModelShape

BITSANDBYTES: Final = "bitsandbytes"
SCALES: Final = Bytes(0.0, 0.08)
"""Bytes a parameter of scales and zero points beside the packed values (groups of 16 to 128)."""
EXPERTS_ALONE: Final = ("MXFP4",)
"""Formats whose published checkpoints pack experts and nothing else."""
UNTOLD_BITS: Final = (4, 8)


def is_trainable_packed(shape: ModelShape) -> bool:
    """Whether adapters can be trained over the packed weights as they lie."""
    return shape.quantised.startswith(BITSANDBYTES)


def packed_bytes(shape: ModelShape, parameters: Parameters) -> Bytes:
    """Of a model whose weights are quantised, by its shapes."""
    kept = parameters.embedding * (1 if shape.tied else 2)
    low, high = (shape.quantised_bits or bits for bits in UNTOLD_BITS)
    least, most = (max(0, count - kept) for count in (parameters.low, parameters.high))
    plain = most - parameters.experts if shape.quantised in EXPERTS_ALONE else 0
    return Bytes(
        HALF * kept + least * (low / 8 + SCALES.low),
        HALF * (kept + plain) + (most - plain) * (high / 8 + SCALES.high),
    )
