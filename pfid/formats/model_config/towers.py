"""Vision and audio towers by their shapes: between bounds, since their layouts differ."""

from collections.abc import Iterator

from pfid.domain.model import Tower
from pfid.formats.model_config.fields import Fields, heads_of, hidden_of, layers_of
from pfid.formats.model_config.nesting import tower_parts

LOW_MATRICES, HIGH_MATRICES = 2, 3
ATTENTION_MATRICES = 4
PATCH_CHANNELS = 3


def towers_of(config: Fields) -> Iterator[Tower]:
    """Each part that sees or hears."""
    for key, part in tower_parts(config):
        width, depth = hidden_of(part) or 0, layers_of(part) or 0
        inner = part.whole("intermediate_size", "mlp_dim", "ffn_dim", "fc_out_dim") or 4 * width
        heads, dim = heads_of(part), part.whole("head_dim")
        across = heads * dim if heads and dim else width
        attention = ATTENTION_MATRICES * width * across
        beside = _patches(part, width)
        yield Tower(
            key=key,
            parameters_low=depth * (attention + LOW_MATRICES * width * inner),
            parameters_high=depth * (attention + HIGH_MATRICES * width * inner) + beside,
            linears=depth * (ATTENTION_MATRICES + LOW_MATRICES),
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
