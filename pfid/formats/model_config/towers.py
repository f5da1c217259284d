"""Vision and audio towers by their shapes: between bounds, since their layouts differ."""

from collections.abc import Iterator
from typing import Final

from pfid.domain.model import Tower
from pfid.formats.model_config.fields import Fields, heads_of, hidden_of, layers_of
from pfid.formats.model_config.nesting import text_part, tower_parts

INNER: Final = (
    "intermediate_size",
    "mlp_dim",
    "ffn_dim",
    "fc_out_dim",
    "encoder_ffn_dim",
)
LOW_MATRICES, HIGH_MATRICES = 2, 3
ATTENTION_MATRICES = 4
JOINED_LINEARS = 2
"""Modules of an attention whose queries, keys and values are one."""
BLOCK_LINEARS: Final = {"audio_config": 13}
"""Most linear modules of a layer: a conformer has two feed-forwards and a convolution."""
BESIDE_LINEARS = 10
"""Most of them between tower and text, and before it."""
PATCH_CHANNELS = 3


def towers_of(config: Fields) -> Iterator[Tower]:
    """Each part that sees or hears."""
    for key, part in tower_parts(config):
        width, depth = _width(part), layers_of(part) or part.whole("encoder_layers") or 0
        inner = part.whole(*INNER) or (part.whole("mlp_ratio") or 4) * width
        leanest = min(inner, part.whole("out_hidden_size") or inner)
        heads, dim = heads_of(part), part.whole("head_dim")
        across = heads * dim if heads and dim else width
        attention = ATTENTION_MATRICES * width * across
        beside = _patches(part, width) + _joint(config, part, width, inner)
        yield Tower(
            key=key,
            parameters_low=depth * (attention + LOW_MATRICES * width * leanest),
            parameters_high=depth * (attention + HIGH_MATRICES * width * inner) + beside,
            linears=depth * (JOINED_LINEARS + LOW_MATRICES),
            linears_most=_linears_most(key, part, depth),
        )


def _linears_most(key: str, part: Fields, depth: int) -> int:
    each = BLOCK_LINEARS.get(key, ATTENTION_MATRICES + HIGH_MATRICES)
    merged = len(part.listed("deepstack_visual_indexes") or ())
    return each * (depth + (part.whole("num_global_layers") or 0)) + BESIDE_LINEARS + 2 * merged


def _width(part: Fields) -> int:
    """Of its layers: where an embedding has its own width, the other is what comes out."""
    own = part.whole("embed_dim") if "mlp_ratio" in part and "intermediate_size" not in part else 0
    return own or hidden_of(part) or 0


def _joint(config: Fields, part: Fields, width: int, inner: int) -> int:
    """Between tower and text, at most."""
    out = part.whole("out_hidden_size") or 0
    text = hidden_of(text_part(config)) or 0
    between = config.whole("alignment_intermediate_size", "projector_hidden_size") or 0
    squared = (config.whole("spatial_merge_size") or 0) ** 2 * width * width
    projected = text * (width + text) if "projector_hidden_act" in config else 0
    merged = 3 * (4 * width) ** 2 if "merge_kernel_size" in config else 0
    return (
        3 * out * inner
        + 4 * width * out
        + between * (text + 4 * width)
        + merged
        + squared
        + projected
    )


def _patches(part: Fields, width: int) -> int:
    """Patch embedding, positions and the projection into the text, at most."""
    patch = part.whole("patch_size") or 0
    frames = part.whole("temporal_patch_size") or 1
    merged = (part.whole("spatial_merge_size") or 1) ** 2
    out = part.whole("out_hidden_size", "projection_dim", "output_dim") or width
    positions = part.whole("num_position_embeddings", "position_embedding_size") or 0
    joined = merged * width
    return (
        PATCH_CHANNELS * patch * patch * frames * width
        + 2 * positions * width
        + (joined * joined + joined * out)
    )
