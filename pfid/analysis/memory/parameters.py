"""Parameters of a model from its shapes: every matrix counted, a name never asked."""

from dataclasses import dataclass

from pfid.domain.model import Attention, FeedForward, Layer, Mixer, ModelShape, Recurrence

NORMS_LOW, NORMS_HIGH = 1, 4
"""Norm weights of the residual's width in a layer; families differ, and it is far below 1 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """A count between bounds.

    Attributes:
        low: least.
        high: most: towers and untold ties open the range.
        experts: of them in experts that are chosen, fused or not.
        active: what one token passes.
        embedding: of the embedding alone.
        known: whether every layer's shapes are told.
    """

    low: int
    high: int
    experts: int
    active: int
    embedding: int
    known: bool

    @property
    def middle(self) -> int:
        """Between both."""
        return (self.low + self.high) // 2


def count_parameters(shape: ModelShape) -> Parameters:
    """Count what the shapes say."""
    hidden = shape.hidden
    layers = [layer_parameters(layer, hidden) for layer in shape.layers]
    experts = sum(expert_parameters(layer.feed, hidden) for layer in shape.layers)
    chosen = sum(
        layer.feed.top_k * _matrices(layer.feed) * hidden * layer.feed.expert
        for layer in shape.layers
    )
    embedding = shape.vocabulary * hidden
    head_low = 0 if shape.tied is not False else embedding
    head_high = 0 if shape.tied else embedding
    body = sum(layers) + _per_layer(shape)
    norms = hidden * (len(shape.layers) + 1)
    low = body + embedding + head_low + NORMS_LOW * norms
    high = body + embedding + head_high + NORMS_HIGH * norms
    return Parameters(
        low=low + sum(t.parameters_low for t in shape.towers),
        high=high + sum(t.parameters_high for t in shape.towers) + shape.learned + _head_of(shape),
        experts=experts,
        active=body - experts + chosen + embedding,
        embedding=embedding,
        known=_is_known(shape),
    )


def _is_known(shape: ModelShape) -> bool:
    told = all(is_told(layer) for layer in shape.layers) and not shape.untold
    return told and bool(shape.vocabulary)


def _head_of(shape: ModelShape) -> int:
    """What may stand before the output head of a model with learned positions: two dense layers."""
    return 2 * shape.hidden * shape.hidden if shape.learned else 0


def is_told(layer: Layer) -> bool:
    """Whether the shapes of a layer's mixer are known."""
    if layer.mixer is Mixer.UNKNOWN:
        return False
    recurrent = layer.mixer in (Mixer.DELTA, Mixer.MAMBA, Mixer.CONV, Mixer.HYBRID)
    return not recurrent or layer.recurrence is not None


def expert_parameters(feed: FeedForward, hidden: int) -> int:
    """Of the experts that are chosen among, without shared ones."""
    return feed.experts * _matrices(feed) * hidden * feed.expert


def attention_parameters(attention: Attention, hidden: int) -> int:
    """Projections of one attention, without norms and biases."""
    a = attention
    across = a.heads * a.head_dim
    if a.kv_rank:
        query = (hidden + across) * a.q_rank if a.q_rank else hidden * across
        plain = a.head_dim - a.rope_dim
        keys = hidden * (a.kv_rank + a.rope_dim) + a.kv_rank * a.heads * (plain + a.value_dim)
    else:
        query = hidden * across * (2 if a.gated else 1)
        own = 0 if a.reuses_kv else 1
        value = 0 if a.shares_kv else a.value_dim
        keys = own * hidden * a.kv_heads * (a.head_dim + value)
    return query + keys + a.heads * a.value_dim * hidden


def recurrence_parameters(recurrence: Recurrence, mixer: Mixer, hidden: int) -> int:
    """Projections, convolution and decay rates of one recurrent mixer."""
    r = recurrence
    if mixer is Mixer.CONV:
        return 3 * hidden * r.inner + r.taps * r.inner + r.inner * hidden
    if r.rank:  # the first Mamba: B, C and the time step are projected from the inner channels
        beside = r.inner * (r.rank + r.keys) + r.rank * r.inner + r.inner * (r.state + 2)
        return 2 * hidden * r.inner + r.taps * r.inner + beside + r.inner * hidden
    rates = 2 * r.heads if mixer is Mixer.DELTA else r.heads
    into = hidden * (2 * r.inner + r.keys + rates)
    return into + r.taps * (r.inner + r.keys) + 3 * r.heads + r.inner * hidden


def layer_parameters(layer: Layer, hidden: int) -> int:
    """Of one layer, without its norms."""
    total = feed_parameters(layer.feed, hidden)
    if layer.attention is not None:
        total += attention_parameters(layer.attention, hidden)
    if layer.recurrence is not None:
        mixer = Mixer.MAMBA if layer.mixer is Mixer.HYBRID else layer.mixer
        total += recurrence_parameters(layer.recurrence, mixer, hidden)
    return total


def feed_parameters(feed: FeedForward, hidden: int) -> int:
    """Of everything behind the mixer."""
    router = feed.experts * hidden
    inner = feed.dense + feed.shared
    return expert_parameters(feed, hidden) + router + _matrices(feed) * hidden * inner


def _matrices(feed: FeedForward) -> int:
    return 3 if feed.gated else 2


def _per_layer(shape: ModelShape) -> int:
    """An embedding of each layer's own (Gemma's small ones) with its projections."""
    own, layers = shape.per_layer_inputs, len(shape.layers)
    if not own:
        return 0
    return layers * own * (shape.vocabulary + shape.hidden) + layers * 2 * own * shape.hidden
