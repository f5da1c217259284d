"""Shapes of mixers with a state that runs along the sequence."""

from pfid.domain.model import Mixer, Recurrence
from pfid.formats.model_config.fields import Fields, heads_of

DEFAULT_TAPS = 4
DELTA_CHUNK, SCAN_CHUNK = 64, 256
"""Positions at once in transformers' code without kernels (5.x); a Mamba's configuration may say
another number."""


def recurrence_of(config: Fields, mixer: Mixer, hidden: int) -> Recurrence | None:
    """Shapes of one layer; None where the configuration does not tell them."""
    if mixer is Mixer.CONV:
        taps = config.whole("conv_L_cache", "conv_kernel", "conv_kernel_size") or DEFAULT_TAPS
        return Recurrence(inner=config.whole("conv_dim") or hidden, keys=0, heads=0, taps=taps)
    if mixer is Mixer.DELTA:
        return _delta(config, hidden)
    return _mamba(config, hidden)


def _delta(config: Fields, hidden: int) -> Recurrence | None:
    inner = config.inner("linear_attn_config")
    if "num_heads" in inner and "head_dim" in inner:
        heads, dim = inner.whole("num_heads") or 0, inner.whole("head_dim") or 0
        taps = inner.whole("short_conv_kernel_size") or DEFAULT_TAPS
        return Recurrence(inner=heads * dim, keys=2 * heads * dim, heads=heads, taps=taps)
    if config.has("attn_type_list", "linear_attn_alpha_factor"):
        return _lightning(config, hidden)
    heads_k = config.whole("linear_num_key_heads")
    heads_v = config.whole("linear_num_value_heads") or heads_k
    dim_k = config.whole("linear_key_head_dim")
    dim_v = config.whole("linear_value_head_dim") or dim_k
    if not (heads_k and heads_v and dim_k and dim_v):
        return None
    taps = config.whole("linear_conv_kernel_dim") or DEFAULT_TAPS
    return Recurrence(
        inner=heads_v * dim_v,
        keys=2 * heads_k * dim_k,
        heads=heads_v,
        taps=taps,
        state=dim_k,
        chunk=DELTA_CHUNK,
    )


def _lightning(config: Fields, hidden: int) -> Recurrence | None:
    """Queries, keys, values and a gate of the attention's own heads, without a convolution."""
    heads = heads_of(config)
    if not heads:
        return None
    dim = config.whole("head_dim") or hidden // heads
    return Recurrence(inner=heads * dim, keys=2 * heads * dim, heads=0, taps=0, state=dim)


def _mamba(config: Fields, hidden: int) -> Recurrence | None:
    state = config.whole("ssm_state_size", "mamba_d_state", "state_size", "d_state")
    taps = config.whole("conv_kernel", "mamba_d_conv", "conv_kernel_size", "d_conv") or DEFAULT_TAPS
    heads = config.whole("mamba_num_heads", "mamba_n_heads", "n_mamba_heads", "num_mamba_heads")
    dim = config.whole("mamba_head_dim", "mamba_d_head", "mamba_headdim")
    if not state:
        return None
    inner = config.whole("mamba_d_ssm", "mamba_intermediate_size", "d_inner")
    inner = inner or (heads * dim if heads and dim else None) or _expanded(config, hidden)
    rank = config.raw.get("mamba_dt_rank", config.raw.get("time_step_rank"))
    groups = config.whole("n_groups", "mamba_n_groups", "mamba_ngroups")
    if groups is None and not (heads and dim):  # first generation: one time step a channel
        width = rank if isinstance(rank, int) and rank > 0 else -(-hidden // 16)
        return Recurrence(inner=inner, keys=2 * state, heads=0, taps=taps, state=state, rank=width)
    heads = heads or (max(1, inner // dim) if dim else max(1, inner // 64))
    keys = 2 * (groups or 1) * state
    chunk = config.whole("chunk_size", "mamba_chunk_size") or SCAN_CHUNK
    return Recurrence(inner=inner, keys=keys, heads=heads, taps=taps, state=state, chunk=chunk)


def _expanded(config: Fields, hidden: int) -> int:
    return (config.whole("expand", "mamba_expand") or 2) * hidden
