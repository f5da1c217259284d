"""Bytes that one layer keeps for its backward pass, and what stands beside them while it runs.

Counted tensor by tensor as the modules of transformers make them (5.x: RMS norms in float32, a
gate kept before and after its activation, experts as one grouped product). Low is the leanest of
these modules, high the dearest. A compiler or fused kernels keep less; then a measured peak is to
be given.
"""

from dataclasses import dataclass

from pfid.analysis.memory.bounds import NOTHING, Bytes, exactly
from pfid.domain.model import Attention, FeedForward, Layer, ModelShape, Recurrence
from pfid.domain.training_plan import AttentionKind, Method, Plan

HALF, FLOAT = 2, 4
FLASH_HEAD_MAX = 256
MORE_NORMS = 2
"""Norms that some families have behind mixer and feed-forward as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerBytes:
    """Of one layer at the plan's tokens.

    Attributes:
        kept: for its backward pass.
        beside: at the worst moment of that pass: gradients of activations, copies.
        workspace: of attention, at that moment.
    """

    kept: Bytes
    beside: Bytes
    workspace: Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Of:
    """What every part of a layer is counted with."""

    shape: ModelShape
    plan: Plan

    @property
    def trains(self) -> bool:
        return self.plan.method is Method.FULL

    @property
    def width(self) -> int:
        return FLOAT if self.plan.float32 and self.trains else HALF


def layer_bytes(layer: Layer, shape: ModelShape, plan: Plan) -> LayerBytes:
    """Count one layer."""
    of = _Of(shape=shape, plan=plan)
    kept, beside, workspace = _norms(layer, of) + _feed(layer.feed, of), NOTHING, NOTHING
    if layer.attention is not None:
        kept += _attention(layer.attention, of)
        beside = exactly(2 * of.width * layer.attention.heads * layer.attention.head_dim)
        workspace = _workspace(layer.attention, plan)
    if layer.recurrence is not None:
        kept += _recurrence(layer.recurrence, of.width)
        beside = beside.over(exactly(2 * of.width * layer.recurrence.inner))
    beside = beside.over(_feed_beside(layer.feed, of))
    if not of.trains:
        kept += _adapters(layer, of)
        out = HALF if plan.float32 is False else FLOAT + HALF
        beside += Bytes(0, out * (layer.feed.dense + layer.feed.shared))
    return LayerBytes(
        kept=kept.times(plan.tokens),
        beside=(beside + exactly(2 * of.width * shape.hidden)).times(plan.tokens),
        workspace=workspace,
    )


def _norms(layer: Layer, of: _Of) -> Bytes:
    """A norm keeps its input in float32; where its weight trains, its results as well.

    Behind a feed-forward it is through before the worst moment of the layer.
    """
    least = (layer.attention is not None or layer.recurrence is not None) + 0
    least += (layer.feed.dense > 0) + (layer.feed.experts > 0)
    low = least if of.shape.norms is None else max(least, of.shape.norms - 1)
    high = of.shape.norms or least + MORE_NORMS
    each = Bytes(8, 10) if of.trains else exactly(4)
    return Bytes(low * each.low, high * each.high).times(of.shape.hidden)


def _attention(a: Attention, of: _Of) -> Bytes:
    queries, out = a.heads * a.head_dim, a.heads * a.value_dim
    keys, values = a.kv_heads * a.head_dim, a.kv_heads * a.value_dim
    repeated = queries + out
    masked = of.plan.attention is not AttentionKind.FLASH and _is_masked(a, of.plan)
    shared = repeated if masked else keys + values
    low = of.width * (queries + shared + out) + FLOAT * a.heads
    high = low + of.width * (repeated - shared + out)
    norms = _head_norms(queries + keys, of)
    beside = of.width * 2 * queries if a.gated else 0
    beside += (FLOAT + HALF) * (a.q_rank + a.kv_rank)
    if of.plan.attention is AttentionKind.EAGER:
        scores = a.heads * of.plan.sequence
        low, high = low + 2 * of.width * scores, high + (2 * of.width + 2 * FLOAT) * scores
    return Bytes(low + beside, high + beside) + norms


def _head_norms(width: int, of: _Of) -> Bytes:
    """Norms of queries and keys, where the model has them."""
    each = FLOAT + (2 * HALF if of.trains else 0)
    low = each * width if of.shape.head_norms else 0
    return Bytes(low, 0 if of.shape.head_norms is False else each * width)


def _is_masked(a: Attention, plan: Plan) -> bool:
    return (a.window or plan.sequence) < plan.sequence or a.head_dim > FLASH_HEAD_MAX


def _workspace(a: Attention, plan: Plan) -> Bytes:
    """A dense mask where no flag can carry the shape: once as bool, at most as a bias too."""
    if plan.attention is AttentionKind.FLASH or not _is_masked(a, plan):
        return NOTHING
    square = plan.micro_batch * plan.sequence**2
    return Bytes(square, (1 + 2 * HALF) * square)


def _recurrence(r: Recurrence, width: int) -> Bytes:
    """With fused kernels: the convolution's in and out, gate, state's in and out, its norm."""
    mixed = r.inner + r.keys
    low = width * (2 * mixed + 3 * r.inner) + FLOAT * r.heads
    return Bytes(low, low + width * mixed + 2 * FLOAT * r.inner + r.keys * FLOAT)


def _feed(feed: FeedForward, of: _Of) -> Bytes:
    """Gate, its activation and the other half; the product only where its input is needed."""
    parts = (3 if feed.gated else 1) + of.trains
    dense = exactly(of.width * parts * (feed.dense + feed.shared))
    if not feed.experts:
        return dense
    each = of.width * (parts * feed.expert + of.shape.hidden * (1 + of.trains))
    gathered = of.width * (of.shape.hidden + (0 if of.trains else feed.expert))
    low = feed.top_k * each + 2 * FLOAT * feed.experts
    return dense + Bytes(low, low + feed.top_k * gathered)


def _feed_beside(feed: FeedForward, of: _Of) -> Bytes:
    """Gradients of the widest products, and copies while experts are gathered."""
    hidden, inner = of.shape.hidden, feed.dense + feed.shared
    dense = Bytes(of.width * 2.5 * inner, of.width * 3 * inner)
    if not feed.experts:
        return dense
    each = of.width * feed.top_k
    return dense.over(
        Bytes(each * (hidden + 2.5 * feed.expert), each * (5 * hidden + 4 * feed.expert))
    )


def _adapters(layer: Layer, of: _Of) -> Bytes:
    """Inputs of adapters: shared ones rounded at least, a float32 copy for each at most."""
    shared, hidden = 0, of.shape.hidden
    each = 0
    if layer.attention is not None:
        out = layer.attention.heads * layer.attention.value_dim
        shared, each = hidden + out, 3 * hidden + out
    if layer.recurrence is not None:
        shared, each = shared + hidden, each + hidden + layer.recurrence.inner
    inner = layer.feed.dense + layer.feed.shared
    if inner:
        shared, each = shared + hidden + inner, each + 2 * hidden + inner
    if of.plan.float32:
        return exactly(FLOAT * each)
    if of.plan.float32 is False:
        return Bytes(HALF * shared, HALF * each)
    return Bytes(HALF * shared, FLOAT * each)
