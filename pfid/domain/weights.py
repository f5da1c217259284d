"""The weights of a checkpoint as its files tell: read from index and headers, never loaded."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What the weight files say.

    Attributes:
        source: where the size is from: ``headers``, ``index``, ``""`` if there is neither.
        size_bytes: of all tensors.
        parameters: elements of all tensors, None where nobody counts them; packed quantised
            weights are counted as they lie.
        by_dtype: bytes by data type, largest first; empty if only an index was read.
        tensors: how many.
        pointers: shards that are Git LFS pointers: text in the place of the weights.
        pointer_bytes: what these pointers stand for.
        missing: shards that the index names and that are not there.
        broken: shards whose header cannot be read, with why.
        outside: shards that the index places outside the folder; never opened.
        on_disk: shards that are there.
        has_head: whether an output head of its own is among the tensors; None if not listed.
        vision_linears: matrices of vision or audio modules that an adapter on every linear
            module would reach; None if tensors are not listed.
        tower_modules: those modules by path, each number in it a ``#``, and how many there are.
        mtp_tensors: tensors of heads that predict further tokens; None if not listed.
        mtp_parameters: elements of those; None where no header tells.
        text_prefix: longest prefix of the decoder's layers (``model.language_model.layers``).
        norms: norms of a decoder layer beside those of heads; None if tensors are not listed.
        norms_behind: of those the ones behind the feed-forward; None likewise.
        head_norms: whether queries and keys have norms; None if tensors are not listed.
        norms_biased: whether norms have a bias; None likewise.
        joined: whether queries, keys and values are one tensor; None likewise.
        sinks: whether attention has a score beside those of the keys; None likewise.
        fused_experts: bytes of experts kept as three-dimensional tensors.
        notes: contradictions, by code.
    """

    source: str = ""
    size_bytes: int = 0
    parameters: int | None = None
    by_dtype: tuple[tuple[str, int], ...] = ()
    tensors: int = 0
    pointers: int = 0
    pointer_bytes: int = 0
    missing: int = 0
    broken: tuple[str, ...] = ()
    outside: int = 0
    on_disk: int = 0
    has_head: bool | None = None
    vision_linears: int | None = None
    tower_modules: tuple[tuple[str, int], ...] = ()
    mtp_tensors: int | None = None
    mtp_parameters: int | None = None
    text_prefix: str = ""
    norms: int | None = None
    norms_behind: int | None = None
    head_norms: bool | None = None
    norms_biased: bool | None = None
    joined: bool | None = None
    sinks: bool | None = None
    fused_experts: int = 0
    notes: tuple[tuple[str, str], ...] = ()
