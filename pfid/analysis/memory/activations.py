"""Bytes that one layer keeps for its backward pass, and what stands beside them while it runs.

Counted tensor by tensor as the modules of transformers make them (5.x: RMS norms in float32, a
gate kept before and after its activation, experts as one grouped product). Low is the leanest of
these modules, high the dearest. A compiler or fused kernels keep less; then a measured peak is to
be given.
"""

from dataclasses import dataclass

from pfid.analysis.memory.bounds import NOTHING, Bytes, exactly
from pfid.analysis.memory.recurrent import recurrent_bytes
from pfid.domain.model import Attention, FeedForward, Layer, ModelShape
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
    norms, feed = _norms(layer, of), _feed(layer.feed, of)
    kept, mixing, workspace = norms + feed, NOTHING, NOTHING
    if layer.attention is not None:
        kept += _attention(layer.attention, of)
        mixing = _attention_beside(layer.attention, of)
        workspace = _workspace(layer.attention, plan)
    if layer.recurrence is not None:
        recurrent = recurrent_bytes(layer, plan)
        kept += recurrent.kept
        mixing = mixing.over(recurrent.beside)
    through = feed + norms.times(0.5)  # when the mixer goes backward
    if not of.trains:
        mixer, inner = _mixer_adapters(layer, of), _feed_adapters(layer, of)
        kept += mixer + inner
        through += inner
    beside = _feed_beside(layer.feed, of).over(mixing.less(through))
    if not of.trains:
        beside += Bytes(0, HALF * (layer.feed.dense + layer.feed.shared))
    return LayerBytes(
        kept=kept.times(plan.tokens),
        beside=(beside + Bytes(1, 2).times(of.width * shape.hidden)).times(plan.tokens),
        workspace=workspace,
    )


def _norms(layer: Layer, of: _Of) -> Bytes:
    """A norm keeps its input in float32; where its weight trains, its results as well.

    Behind a feed-forward it is through before the worst moment of the layer; behind the two
    branches of one (dense and experts side by side) only the last is. One that subtracts a
    mean is one operation where it has a bias; without, it may be written out in float32 with one
    copy more.
    """
    least = (layer.attention is not None or layer.recurrence is not None) + 0
    least += (layer.feed.dense > 0) + (layer.feed.experts > 0)
    told, behind = of.shape.norms, of.shape.norms_behind
    low = least - 1 if told is None else told - min(behind or 0, 1)
    high = told or least + MORE_NORMS
    each = Bytes(8, 10) if of.trains else exactly(4)
    if of.shape.layer_norms and of.shape.norms_biased:
        each = exactly(4) if of.trains else exactly(2)
    elif of.shape.layer_norms:
        each = Bytes(4, 14) if of.trains else Bytes(2, 10)
    return Bytes(max(0, low) * each.low, high * each.high).times(of.shape.hidden)


def _attention(a: Attention, of: _Of) -> Bytes:
    queries, out = a.heads * a.head_dim, a.heads * a.value_dim
    keys, values = a.kv_heads * a.head_dim, a.kv_heads * a.value_dim
    repeated = queries + out
    masked = of.plan.attention is not AttentionKind.FLASH and _is_masked(a, of.plan)
    shared = repeated if masked else keys + values
    low = of.width * (queries + shared + out) + FLOAT * a.heads
    high = low + of.width * (max(repeated, shared) - shared + out)
    norms = _head_norms(queries + keys, of)
    beside = of.width * 2 * queries if a.gated else 0
    beside += (FLOAT + HALF) * (a.q_rank + a.kv_rank)
    if _is_eager(a, of.plan):
        scores = a.heads * of.plan.sequence * _score_bytes(a, of)
        low, high = low + scores, high + scores
    return Bytes(low + beside, high + beside) + norms


def _is_eager(a: Attention, plan: Plan) -> bool:
    """What scaled dot product attention cannot carry, transformers computes eagerly."""
    other = plan.attention is AttentionKind.SDPA and (a.capped or a.sinks)
    return other or plan.attention is AttentionKind.EAGER


def _score_bytes(a: Attention, of: _Of) -> int:
    """Softmax in float32 and its rounding, with sinks one rounded; a cap keeps its tangent."""
    plain = of.width if a.sinks else FLOAT + of.width
    return plain + (of.width if a.capped else 0)


def _attention_beside(a: Attention, of: _Of) -> Bytes:
    """Gradients while attention goes backward; of the scores where they are kept.

    When the softmax goes backward its gradients stand on both sides of it, and the rounded copy
    is gone.
    """
    plain = exactly(2 * of.width * a.heads * a.head_dim)
    if not _is_eager(a, of.plan):
        return plain
    scores = a.heads * of.plan.sequence
    each = Bytes(1.6, 2.05).times(of.width) if a.sinks else Bytes(2 * FLOAT - of.width, 2 * FLOAT)
    return plain + each.times(scores)


def _head_norms(width: int, of: _Of) -> Bytes:
    """Norms of queries and keys, where the model has them."""
    each = FLOAT + (2 * HALF if of.trains else 0)
    low = each * width if of.shape.head_norms else 0
    return Bytes(low, 0 if of.shape.head_norms is False else each * width)


def _is_masked(a: Attention, plan: Plan) -> bool:
    return (a.window or plan.sequence) < plan.sequence or a.head_dim > FLASH_HEAD_MAX


def _workspace(a: Attention, plan: Plan) -> Bytes:
    """A dense mask where no flag can carry the shape: once as bool, at most as a bias too."""
    needed = _is_masked(a, plan) or _is_eager(a, plan)
    if plan.attention is AttentionKind.FLASH or not needed:
        return NOTHING
    square = plan.micro_batch * plan.sequence**2
    return Bytes(square, (1 + 2 * HALF) * square)


def _feed(feed: FeedForward, of: _Of) -> Bytes:
    """Gate, its activation and the other half; the product only where its input is needed."""
    parts = (3 if feed.gated else 1) + of.trains + feed.written_out
    dense = exactly(of.width * parts * (feed.dense + feed.shared))
    if not feed.experts:
        return dense
    each = of.width * (parts * feed.expert + of.shape.hidden * (1 + of.trains))
    gathered = 0 if of.trains else of.width * of.shape.hidden
    low = feed.top_k * each + 2 * FLOAT * feed.experts
    return dense + Bytes(low, low + feed.top_k * gathered)


def _feed_beside(feed: FeedForward, of: _Of) -> Bytes:
    """Gradients of the widest products, and copies while experts are gathered."""
    hidden, inner = of.shape.hidden, feed.dense + feed.shared
    halves = Bytes(2.5, 3) if feed.gated else Bytes(2, 2.5)
    dense = halves.times(of.width * inner)
    if not feed.experts:
        return dense
    each, frozen = of.width * feed.top_k, 0 if of.trains else hidden
    weighed, inside = 3 * hidden, hidden + 2 * feed.expert
    low = max(weighed, inside) + frozen  # frozen experts: by tracked peaks
    return dense.over(Bytes(each * low, each * max(5 * hidden, 2 * hidden + 3.5 * feed.expert)))


def _mixer_adapters(layer: Layer, of: _Of) -> Bytes:
    """Inputs of the mixer's adapters: queries, keys and values share theirs."""
    shared, each, hidden = 0, 0, of.shape.hidden
    if layer.attention is not None:
        out = layer.attention.heads * layer.attention.value_dim
        shared, each = hidden + out, 3 * hidden + out
    if layer.recurrence is not None:
        shared, each = shared + hidden, each + hidden + layer.recurrence.inner
    return _copies(shared, each, of)


def _feed_adapters(layer: Layer, of: _Of) -> Bytes:
    """Inputs of the feed-forward's adapters; fused experts have none."""
    inner, hidden = layer.feed.dense + layer.feed.shared, of.shape.hidden
    if not inner:
        return NOTHING
    into = 2 if layer.feed.gated else 1
    return _copies(hidden + inner, into * hidden + inner, of)


def _copies(shared: int, each: int, of: _Of) -> Bytes:
    """Shared inputs rounded at least, a float32 copy for each adapter at most."""
    if of.plan.float32:
        return exactly(FLOAT * each)
    if of.plan.float32 is False:
        return Bytes(HALF * shared, HALF * each)
    return Bytes(HALF * shared, FLOAT * each)
