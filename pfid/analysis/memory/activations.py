"""Bytes that one layer keeps for its backward pass, and what stands beside them while it runs.

Counted tensor by tensor as the modules of transformers make them (5.x: RMS norms in float32, a
gate kept before and after its activation, experts as one grouped product). Low is the leanest of
these modules, high the dearest. A compiler or fused kernels keep less; then a measured peak is to
be given.
"""

from dataclasses import dataclass, replace

from pfid.analysis.memory.adapters_kept import feed_adapters, mixer_adapters
from pfid.analysis.memory.bounds import NOTHING, Bytes, exactly
from pfid.analysis.memory.counted import FLOAT, HALF, Counted
from pfid.analysis.memory.norms_kept import norm_bytes, norms_kept
from pfid.analysis.memory.recurrent import recurrent_bytes
from pfid.domain.model import Attention, FeedForward, Layer, ModelShape, NormKind
from pfid.domain.training_plan import AttentionKind, Plan

FLASH_HEAD_MAX = 256
SPARED = 0.91
"""What layers keep at least of what is counted: some classes spare an operation that others have
(of those that were tracked, tests/bench/model_peaks.py)."""
SPARED_OF_ONE = 0.99
"""The same of the layer that goes backward, and of what stands beside it."""
NEVER_HELD = Bytes(0.5, 1.5)
"""What layers may keep whose type was never held against a tracker, as shares of the count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerBytes:
    """Of one layer at the plan's tokens.

    Attributes:
        kept: for its backward pass.
        standing: what of that is still there at the worst moment of that pass.
        beside: at that moment: gradients of activations, copies.
        workspace: of attention, at that moment.
    """

    kept: Bytes
    standing: Bytes
    beside: Bytes
    workspace: Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Of(Counted):
    """With the shapes that hold for every layer."""

    shape: ModelShape


def layer_bytes(layer: Layer, shape: ModelShape, plan: Plan) -> LayerBytes:
    """Count one layer; far apart where nobody held its type against anything."""
    plain = _counted(layer, shape, plan)
    if shape.held:
        share = 1.0 if plan.checkpointing else SPARED  # whose layers keep nothing
        spared = Bytes(share * plain.kept.low, plain.kept.high)
        standing, beside = (
            Bytes(SPARED_OF_ONE * size.low, size.high) for size in (plain.standing, plain.beside)
        )
        return replace(plain, kept=spared, standing=standing, beside=beside)
    if plan.attention is not AttentionKind.SDPA:
        return _doubted(plain, plain, NEVER_HELD)
    eager = _counted(layer, shape, replace(plan, attention=AttentionKind.EAGER))
    return _doubted(plain, eager, NEVER_HELD)


def _doubted(plain: LayerBytes, eager: LayerBytes, share: Bytes) -> LayerBytes:
    """A class that nobody knows may keep its scores, though its configuration says nothing."""

    def between(low: Bytes, high: Bytes) -> Bytes:
        return Bytes(share.low * low.low, share.high * max(low.high, high.high))

    return LayerBytes(
        kept=between(plain.kept, eager.kept),
        standing=between(plain.standing, eager.standing),
        beside=between(plain.beside, eager.beside),
        workspace=between(plain.workspace, eager.workspace),
    )


def _counted(layer: Layer, shape: ModelShape, plan: Plan) -> LayerBytes:
    of = _Of(shape=shape, plan=plan)
    norms, feed = norms_kept(layer, shape, of), _feed(layer.feed, of)
    kept, standing, mixing, workspace = feed + norms.kept, feed + norms.standing, NOTHING, NOTHING
    if layer.attention is not None:
        attention = _attention(layer.attention, of)
        kept, standing = kept + attention, standing + attention
        mixing = _attention_beside(layer.attention, of)
        workspace = _workspace(layer.attention, plan)
    if layer.recurrence is not None:
        recurrent = recurrent_bytes(layer, plan)
        kept, standing = kept + recurrent.kept, standing + recurrent.standing
        mixing = mixing.over(recurrent.beside)
    if shape.dropped:  # a byte an element says which were, behind mixer and feed-forward
        masks = exactly(2 * shape.hidden)
        kept, standing = kept + masks, standing + masks
    through = feed + norms.kept.times(0.5)  # when the mixer goes backward
    if not of.trains:
        inner = feed_adapters(layer, shape, of)
        both = mixer_adapters(layer, shape, of) + inner
        kept, standing = kept + both, standing + both
        through += inner
    beside = _feed_beside(layer.feed, of).over(mixing.less(through))
    if not of.trains:
        beside += Bytes(0, HALF * (layer.feed.dense + layer.feed.shared))
    return LayerBytes(
        kept=kept.times(plan.tokens),
        standing=standing.times(plan.tokens),
        beside=(beside + Bytes(1, 2).times(of.width * shape.hidden)).times(plan.tokens),
        workspace=workspace,
    )


def _attention(a: Attention, of: _Of) -> Bytes:
    """Queries, keys, values and what came out, as the kernel keeps them.

    Where a mask is handed on, keys and values are repeated for every query, and each layer keeps
    the mask as a bias. Values of a joined or latent projection are a view of it and keep it whole,
    unless they are repeated.
    """
    queries, out = a.heads * a.head_dim, a.heads * a.value_dim
    own = a.kv_heads * (a.head_dim + a.value_dim) + _viewed(a, of)
    repeated = queries + out if 1 < a.kv_heads < a.heads else own
    kernel = exactly(repeated if _repeats(a, of.plan) else own)
    beside = of.width * (queries + out + _beside_kernel(a, of)) + FLOAT * a.heads
    beside += (2 * FLOAT if of.trains else FLOAT) * (a.q_rank + a.kv_rank)
    if _is_eager(a, of.plan):
        beside += a.heads * of.plan.sequence * _score_bytes(a, of)
    else:
        kernel += _bias(a, of.plan)
    return kernel.times(of.width) + exactly(beside) + _head_norms(a, of)


def _viewed(a: Attention, of: _Of) -> int:
    """What a view of values keeps beside them: the rest of what was projected with them."""
    if a.kv_rank:
        return a.heads * (a.head_dim - a.rope_dim)
    joined = of.shape.joined and not of.shape.learned
    return a.heads * a.head_dim + a.kv_heads * a.head_dim if joined else 0


def _beside_kernel(a: Attention, of: _Of) -> int:
    """A gate's own; a copy of what came out where queries were joined and lie another way."""
    gate = a.heads * a.head_dim * (1 + of.trains) if a.gated else 0
    copied = (of.trains or a.gated) and (a.in_part or a.kv_rank)
    return gate + (a.heads * a.value_dim if copied else 0)


def _is_eager(a: Attention, plan: Plan) -> bool:
    """What scaled dot product attention cannot carry, transformers computes eagerly."""
    other = plan.attention is AttentionKind.SDPA and (a.capped or a.sinks or a.unfused)
    return a.eager or other or plan.attention is AttentionKind.EAGER


def _score_bytes(a: Attention, of: _Of) -> int:
    """Softmax in float32 and its rounding, with sinks one rounded; a cap keeps its tangent."""
    plain = of.width if a.sinks or a.rounded else FLOAT + of.width
    dropped = 1 + of.width if a.dropped else 0  # which were, and what is left
    return plain + (of.width if a.capped else 0) + dropped


def _attention_beside(a: Attention, of: _Of) -> Bytes:
    """Gradients while attention goes backward; of the scores where they are kept.

    When the softmax goes backward its gradients stand on both sides of it, and the rounded copy
    is gone.
    """
    plain = exactly(2 * of.width * a.heads * a.head_dim)
    if not _is_eager(a, of.plan):
        return plain
    scores = a.heads * of.plan.sequence
    each = (
        Bytes(1.6, 2.4).times(of.width)
        if a.sinks or a.rounded
        else Bytes(2 * FLOAT - of.width, 2 * FLOAT)
    )
    return plain + each.times(scores)


def _head_norms(a: Attention, of: _Of) -> Bytes:
    """Norms of queries and keys, where the model has them; of some values too, without a weight."""
    told, width = of.shape.head_norms, (a.heads + a.kv_heads) * a.head_dim
    each, values = norm_bytes(of.shape, of), FLOAT * a.kv_heads * a.value_dim
    most = width * each.high + (values if of.shape.norm_kind is not NormKind.ROUNDED else 0)
    return Bytes(width * each.low if told else 0, 0 if told is False else most)


def _repeats(a: Attention, plan: Plan) -> bool:
    """Whether keys and values are repeated: no kernel groups queries beside a mask."""
    if plan.attention is AttentionKind.FLASH:
        return False
    by_shape = _is_windowed(a, plan) or a.head_dim > FLASH_HEAD_MAX
    return by_shape or _is_eager(a, plan) or plan.masked


def _is_windowed(a: Attention, plan: Plan) -> bool:
    return (a.window or plan.sequence) < plan.sequence


def _bias(a: Attention, plan: Plan) -> Bytes:
    """Elements a token of the mask that a layer keeps: every key of the row."""
    if plan.attention is AttentionKind.FLASH:
        return NOTHING
    if _is_windowed(a, plan) or plan.masked:
        return exactly(plan.sequence)
    return Bytes(0, plan.sequence) if a.head_dim > FLASH_HEAD_MAX else NOTHING


def _workspace(a: Attention, plan: Plan) -> Bytes:
    """The mask of the model: once as bool, and what is made of it for a moment."""
    square = plan.micro_batch * plan.sequence**2
    if plan.attention is AttentionKind.FLASH:
        return NOTHING
    if _is_eager(a, plan):
        return Bytes(square, (1 + 2 * HALF) * square)
    bias = _bias(a, plan).times(1 / plan.sequence)
    return Bytes(bias.low * square, bias.high * (1 + HALF) * square)


def _feed(feed: FeedForward, of: _Of) -> Bytes:
    """Gate, its activation and the other half; the product only where its input is needed.

    Tokens of experts are gathered, and what comes out is kept for the router's weights. A router
    may make a float32 copy of its input.
    """
    parts = (3 if feed.gated else 1) + of.trains * (1 + feed.learned) + feed.written_out
    parts -= feed.keeps_result and (feed.gated or of.trains)
    dense = exactly(of.width * parts * (feed.dense + feed.shared))
    if not feed.experts:
        return dense
    each = of.width * (parts * feed.expert + of.shape.hidden * (1 + of.trains))
    router = Bytes(0, FLOAT * of.shape.hidden if of.trains else 0)
    return dense + router + exactly(_passed(feed) * each + 2 * FLOAT * feed.experts)


def _passed(feed: FeedForward) -> int:
    """Experts that compute for a token."""
    return feed.experts if feed.every else feed.top_k


def _feed_beside(feed: FeedForward, of: _Of) -> Bytes:
    """Gradients of the widest products, and copies while experts are gathered.

    What went into the second matrix is gone when most of them stand.
    """
    hidden, inner = of.shape.hidden, feed.dense + feed.shared
    halves = Bytes(2.25, 3) if feed.gated else Bytes(1.25, 2.5)
    dense = halves.times(of.width * inner)
    if not feed.experts:
        return dense
    if feed.every:
        return dense.over(_every_beside(feed, hidden).times(of.width))
    each, frozen = of.width * feed.top_k, 0 if of.trains else hidden
    weighed, inside = 3 * hidden, hidden + 2 * feed.expert
    low = max(weighed, inside) + frozen  # frozen experts: by tracked peaks
    high = max(5 * hidden, 2 * hidden + 3.5 * feed.expert) + frozen
    return dense.over(Bytes(each * low, each * high))


def _every_beside(feed: FeedForward, hidden: int) -> Bytes:
    """One product of all experts: nothing is gathered, or weighed behind it; by tracked peaks."""
    halves = Bytes(2, 2.5).times(feed.expert)
    return (Bytes(0.9, 2).times(hidden) + halves).times(feed.experts)
