"""A model as its shapes: what memory, attention paths and kernels follow from; never its name."""

from dataclasses import dataclass
from enum import Enum


class Mixer(Enum):
    """How the tokens of a layer meet each other."""

    FULL = "full_attention"
    SLIDING = "sliding_attention"
    CHUNKED = "chunked_attention"
    SPARSE = "sparse_attention"
    DELTA = "linear_attention"
    MAMBA = "mamba"
    CONV = "conv"
    HYBRID = "hybrid"
    NONE = "none"
    UNKNOWN = "unknown"


ATTENDING = frozenset({Mixer.FULL, Mixer.SLIDING, Mixer.CHUNKED, Mixer.SPARSE, Mixer.HYBRID})
"""Mixers with attention over positions."""
RECURRENT = frozenset({Mixer.DELTA, Mixer.MAMBA, Mixer.CONV, Mixer.HYBRID})
"""Mixers with a state that runs along the sequence, for which fused kernels exist."""
FUSING = frozenset({Mixer.DELTA, Mixer.MAMBA, Mixer.HYBRID})
"""Those of them that keep several times more without their fused kernels."""


class NormKind(Enum):
    """How a norm is written, by which it keeps more or less for its backward pass."""

    ROUNDED = "rounded"  # normed in float32, rounded, then met by its weight
    WIDE = "wide"  # met by its weight in float32 and then rounded
    SINGLE = "single"  # one operation of torch's own
    WRITTEN = "written"  # a mean subtracted in float32, operation by operation


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Shapes of one attention.

    Attributes:
        heads: of queries.
        kv_heads: of keys and values.
        head_dim: of a query and a key; for latent attention what the kernel sees.
        value_dim: of a value.
        window: positions a token sees back, or in its chunk; None for all.
        shares_kv: whether values are the keys, so that there is no projection of their own.
        reuses_kv: whether keys and values of an earlier layer are taken.
        gated: whether queries bring an output gate of their own size.
        q_rank: width of the latent query; 0 for a plain projection.
        kv_rank: width of the latent key and value; 0 for plain projections.
        rope_dim: of the part of a head that is rotated apart, for latent attention.
        capped: whether scores pass a soft cap, which only eager code and flash attention have.
        sinks: whether a score of its own stands beside those of the keys, likewise.
        in_part: whether only a part of each head is rotated, which joins queries anew.
        eager: whether its class has no other code than one that keeps the scores.
        unfused: whether its class has such code and flash attention, and nothing between them.
        rounded: whether that code norms scores as they come, without a copy in float32.
        dropped: whether some scores are dropped at random, which code that keeps them keeps too.
    """

    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    window: int | None = None
    shares_kv: bool = False
    reuses_kv: bool = False
    gated: bool = False
    q_rank: int = 0
    kv_rank: int = 0
    rope_dim: int = 0
    capped: bool = False
    sinks: bool = False
    in_part: bool = False
    eager: bool = False
    unfused: bool = False
    rounded: bool = False
    dropped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """Shapes of one recurrent or convolutional mixer.

    Attributes:
        inner: channels that go in beside the gate: values of a delta rule, ``x`` of a Mamba.
        keys: channels of queries and keys together (delta), of B and C together (Mamba).
        heads: decay rates a token.
        taps: width of the short convolution.
        state: of one head: width of a key (delta), channels of a state (Mamba).
        rank: of the time step's projection (first generation of Mamba), else 0.
        chunk: positions that code without fused kernels takes at once; 0 where nothing is chunked
            or nobody knows.
    """

    inner: int
    keys: int
    heads: int
    taps: int
    state: int = 0
    rank: int = 0
    chunk: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedForward:
    """Shapes of what follows the mixer.

    Attributes:
        dense: inner width of a feed-forward that every token passes; 0 without one.
        experts: how many there are; 0 without.
        top_k: of them a token passes.
        expert: inner width of one.
        shared: inner width of experts every token passes, in sum.
        gated: whether there is a gate projection (three matrices, else two).
        written_out: tensors of the inner width that the activation keeps beside its input, where
            it is no operation of its own but several in Python.
        every: whether all experts compute for every token, and only their results are chosen.
        keeps_result: whether the activation keeps what it gives out and not what came in, which
            what follows keeps anyhow.
        learned: whether the activation has a factor that trains, and keeps one more for it.
    """

    dense: int = 0
    experts: int = 0
    top_k: int = 0
    expert: int = 0
    shared: int = 0
    gated: bool = True
    written_out: float = 0
    every: bool = False
    keeps_result: bool = False
    learned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer; ``recurrence`` is None where a recurrent layer's shapes are not told."""

    mixer: Mixer
    attention: Attention | None = None
    recurrence: Recurrence | None = None
    feed: FeedForward = FeedForward()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tower:
    """A part beside the text decoder (vision, audio), by the key that describes it.

    Attributes:
        key: as ``vision_config``.
        parameters_low: least its shapes allow.
        parameters_high: most.
        linears: least linear modules that its shapes allow; 0 if not told.
        linears_most: most, with what stands between it and the text.
    """

    key: str
    parameters_low: int
    parameters_high: int
    linears: int
    linears_most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """What a configuration says of a model.

    Attributes:
        source: the file it was read from.
        model_type: as the configuration says; shown, never decided by.
        classes: ``architectures``.
        hidden: width of the residual stream.
        vocabulary: rows of the embedding.
        tied: whether the output head is the embedding; None if only the class tells.
        layers: every layer of the text decoder.
        dtype: of the weights, "" if not told.
        towers: parts beside it.
        mtp_layers: layers that predict further tokens, outside ``layers``.
        per_layer_inputs: width of an embedding of each layer's own; 0 without.
        soft_capped: whether logits pass a soft cap.
        quantised: the format of quantised weights, "" for none.
        quantised_bits: of one such weight; 0 if nobody tells.
        code: whether the checkpoint brings code, which is never executed.
        silent: whether the layers' types are not in the file but a default of the class.
        positions: longest sequence, 0 if not told.
        norms: of the residual's width in a layer; None if neither fields nor tensors tell.
        norms_behind: of the norms those behind the feed-forward; None likewise.
        head_norms: whether queries and keys have norms; None likewise.
        norm_kind: how its norms are written; None where nobody knows.
        joined: whether queries, keys and values are one matrix, and gate and up another.
        layer_norms: whether norms subtract a mean and are one operation, which keeps their input
            as it is and no float32 copy.
        norms_biased: whether norms have a bias, as only torch's own have, which are one operation;
            None if tensors are not listed.
        learned: parameters of positions that may be learned beside the embedding.
        dropped: whether a part of what mixer and feed-forward give out is dropped at random.
        held: whether what layers of its type keep was held against a tracker of memory; of others
            it is known far less well.
        untold: why the configuration alone does not give the sizes, "" where it does.
        notes: what was met on the way, by code: contradictions, false friends.
    """

    source: str
    model_type: str
    classes: tuple[str, ...]
    hidden: int
    vocabulary: int
    tied: bool | None
    layers: tuple[Layer, ...]
    dtype: str = ""
    towers: tuple[Tower, ...] = ()
    mtp_layers: int = 0
    per_layer_inputs: int = 0
    soft_capped: bool = False
    quantised: str = ""
    quantised_bits: int = 0
    code: bool = False
    silent: bool = False
    positions: int = 0
    norms: int | None = None
    norms_behind: int | None = None
    head_norms: bool | None = None
    norm_kind: NormKind | None = None
    joined: bool = False
    layer_norms: bool = False
    norms_biased: bool | None = None
    learned: int = 0
    dropped: bool = False
    held: bool = False
    untold: str = ""
    notes: tuple[tuple[str, str], ...] = ()

    def count(self, *mixers: Mixer) -> int:
        """Layers that mix in one of these ways."""
        return sum(layer.mixer in mixers for layer in self.layers)

    @property
    def experts(self) -> int:
        """Experts of a layer that has most."""
        return max((layer.feed.experts for layer in self.layers), default=0)
