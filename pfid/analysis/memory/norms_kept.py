"""Bytes a token that the norms of one layer keep, and what stands of them while it goes backward.

Counted operation by operation as transformers writes them. Each keeps what it normed in float32;
where its weight trains also the normed, rounded or not; and the linear modules behind it, which
share what comes out, keep that where their own weights train.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pfid.analysis.memory.bounds import NOTHING, Bytes, exactly
from pfid.analysis.memory.counted import FLOAT, HALF, Counted
from pfid.domain.model import Layer, ModelShape, NormKind

MORE_NORMS: Final = 2
"""Norms that some families have behind mixer and feed-forward as well."""
FROZEN: Final[Mapping[NormKind, int]] = {
    NormKind.ROUNDED: FLOAT,
    NormKind.WIDE: FLOAT,
    NormKind.SINGLE: HALF,
    NormKind.WRITTEN: 2 * FLOAT,  # less its mean, once for the variance and once for the result
}
TRAINED: Final[Mapping[NormKind, int]] = {
    NormKind.ROUNDED: FLOAT + HALF,
    NormKind.WIDE: 2 * FLOAT,
    NormKind.SINGLE: HALF,
    NormKind.WRITTEN: 3 * FLOAT,
}
IN_FLOAT: Final[Mapping[NormKind, int]] = {
    NormKind.ROUNDED: 2 * FLOAT,
    NormKind.WIDE: 2 * FLOAT,
    NormKind.SINGLE: FLOAT,
    NormKind.WRITTEN: 3 * FLOAT,
}
"""Bytes an element: frozen, trained, and trained where all is in float32."""


@dataclass(frozen=True, slots=True)
class NormsKept:
    """Of one layer, per token: after its forward pass, and at the worst moment of its backward."""

    kept: Bytes
    standing: Bytes


def norms_kept(layer: Layer, shape: ModelShape, of: Counted) -> NormsKept:
    """Count one layer's norms, with the inputs of the linear modules behind them."""
    least = _parts(layer)
    told = shape.norms
    low, high = (told, told) if told else (max(1, least - 1), least + MORE_NORMS)
    each = norm_bytes(shape, of)
    kept = Bytes(low * each.low, high * each.high) + _inputs(layer, shape, of)
    through = each.low if shape.norms_behind != 0 else 0  # the last of them, where it is behind
    standing = Bytes(max(0.0, kept.low - through), kept.high)
    return NormsKept(kept.times(shape.hidden), standing.times(shape.hidden))


def norm_bytes(shape: ModelShape, of: Counted) -> Bytes:
    """Of one element that is normed."""
    table = (IN_FLOAT if of.width == FLOAT else TRAINED) if of.trains else FROZEN
    each = [table[kind] for kind in _kinds(shape)]
    return Bytes(min(each), max(each))


def _kinds(shape: ModelShape) -> tuple[NormKind, ...]:
    """Only torch's own norm has a bias."""
    if shape.norm_kind is not None:
        return (shape.norm_kind,)
    if shape.norms_biased:
        return (NormKind.SINGLE,)
    if not shape.layer_norms:
        return (NormKind.ROUNDED, NormKind.WIDE)
    return (NormKind.SINGLE, NormKind.WRITTEN)


def _parts(layer: Layer) -> int:
    """What stands beside the residual stream, each with a norm of its own in most families."""
    mixes = layer.attention is not None or layer.recurrence is not None
    return mixes + (layer.feed.dense > 0) + (layer.feed.experts > 0)


def _inputs(layer: Layer, shape: ModelShape, of: Counted) -> Bytes:
    """What goes into mixer and feed-forward: one for both where they stand side by side."""
    if not of.trains:
        return NOTHING
    mixes = layer.attention is not None or layer.recurrence is not None
    both = mixes + (layer.feed.dense + layer.feed.shared + layer.feed.experts > 0)
    if shape.norms == 1:
        return exactly(of.width)
    return Bytes(1 if shape.norms is None else both, both).times(of.width)
