"""Bytes a token that adapters of one layer keep: what goes into both of their matrices.

PEFT keeps adapters in float32 and makes each its own float32 copy of what comes in. Where they are
kept or used in bfloat16 (autocast), a copy is half of that, and without autocast none.
"""

from dataclasses import dataclass

from pfid.analysis.memory.bounds import NOTHING, Bytes, exactly
from pfid.analysis.memory.counted import FLOAT, HALF, Counted
from pfid.domain.model import Attention, Layer, Mixer, ModelShape


@dataclass(frozen=True, slots=True)
class _Inputs:
    """Widths that go into adapters: each counted once, once for every module; and modules."""

    shared: int = 0
    each: int = 0
    modules: int = 0

    def __add__(self, other: "_Inputs") -> "_Inputs":
        return _Inputs(
            self.shared + other.shared, self.each + other.each, self.modules + other.modules
        )


def mixer_adapters(layer: Layer, shape: ModelShape, of: Counted) -> Bytes:
    """Of attention and recurrence."""
    found, hidden = _Inputs(), shape.hidden
    if layer.attention is not None:
        found += _attention(layer.attention, shape)
    inner = layer.recurrence.inner if layer.recurrence is not None else 0
    least = found + _Inputs(hidden, hidden + inner, 2) if inner else found
    # a delta rule's gates and rates are projected by two matrices or by four
    more = _Inputs(0, 3 * hidden, 3) if inner and layer.mixer is Mixer.DELTA else _Inputs()
    return Bytes(_copies(least, of).low, _copies(least + more, of).high)


def feed_adapters(layer: Layer, shape: ModelShape, of: Counted) -> Bytes:
    """Of the feed-forward; fused experts have none."""
    inner, hidden = layer.feed.dense + layer.feed.shared, shape.hidden
    if not inner:
        return NOTHING
    into = 2 if layer.feed.gated and not shape.joined else 1
    found = _Inputs(hidden + inner, into * hidden + inner, into + 1)
    # beside dense ones the router of experts is a linear module like any other
    router = _Inputs(hidden, hidden, 1) if layer.feed.experts and layer.feed.dense else _Inputs()
    return Bytes(_copies(found, of).low, _copies(found + router, of).high)


def _attention(a: Attention, shape: ModelShape) -> _Inputs:
    """Queries, keys and values share theirs; latent ones have a second matrix behind it."""
    hidden, out = shape.hidden, a.heads * a.value_dim
    if a.kv_rank:
        ranks = a.q_rank + a.kv_rank
        return _Inputs(hidden + ranks + out, 2 * hidden + ranks + out, 4 + (a.q_rank > 0))
    into = 1 if a.reuses_kv or shape.joined else 2 if a.shares_kv else 3
    return _Inputs(hidden + out, into * hidden + out, into + 1)


def _copies(found: _Inputs, of: Counted) -> Bytes:
    """What was copied, and what stands between both matrices."""
    rank = found.modules * of.plan.rank
    if of.plan.float32 is not False:
        return exactly(FLOAT * (found.each + rank))
    return Bytes(HALF * (found.shared + rank), HALF * (found.each + rank))
