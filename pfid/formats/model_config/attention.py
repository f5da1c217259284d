"""Head counts, head widths and windows of a layer."""

from typing import Final

from pfid.domain.model import Attention, Mixer
from pfid.formats.model_config.fields import Fields, ModelConfigError, heads_of, kind_of

EAGER: Final = frozenset(
    {
        *("bloom", "mpt", "mimo_v2_flash", "deepseek_v4", "hy_v4", "rembert", "roformer", "xlnet"),
        *("megatron-bert", "openai-gpt", "cpmant", "git", "gpt_neox_japanese", "big_bird"),
    }
)
"""Types whose classes have no attention but what keeps the scores (transformers 5.24)."""
UNFUSED: Final = frozenset(
    {
        *("gemma2", "vaultgemma", "gpt_neo", "gpt_oss", "flint", "granite_swa", "granitemoe_swa"),
    }
)
"""Types whose classes have flash attention beside it, and no scaled dot product attention, whatever
their configuration says of caps and sinks."""
SINKING: Final = frozenset({"gpt_oss"})
"""Types whose every layer has sinks that no field tells of."""
ROUNDED: Final = frozenset({"mimo_v2_flash"})
"""Of them those that norm scores as they come; windowed layers have sinks if no field denies it."""
SCORES_DROPPED: Final = ("attention_dropout", "attn_pdrop", "attention_probs_dropout_prob")
DROPPED: Final = (
    *("resid_pdrop", "hidden_dropout", "resid_dropout", "residual_dropout", "dropout"),
    "hidden_dropout_prob",
)


def attention_of(config: Fields, mixer: Mixer, hidden: int, at: int, layers: int) -> Attention:
    """Shapes of the attention of one layer.

    Args:
        config: the text decoder's part.
        mixer: of the layer.
        hidden: width of the residual stream.
        at: which layer.
        layers: how many there are.

    Raises:
        ModelConfigError: ``shapes_missing`` where no head count is told.
    """
    heads = _each(config, "num_attention_heads", at) or heads_of(config)
    if not heads:
        raise ModelConfigError("shapes_missing", "no number of attention heads is told")
    if config.whole("kv_lora_rank"):
        return _latent(config, mixer, heads)
    windowed = mixer is Mixer.SLIDING
    heads = (config.whole("swa_num_attention_heads") if windowed else None) or heads
    dim = _head_dim(config, hidden, heads, windowed=windowed)
    value = (config.whole("swa_v_head_dim") if windowed else None) or config.whole("v_head_dim")
    last = config.whole("num_kv_shared_layers") or 0
    return Attention(
        heads=heads,
        kv_heads=_kv_heads(config, heads, at, windowed=windowed),
        head_dim=dim,
        value_dim=value or dim,
        window=_window(config, mixer),
        shares_kv=config.flag("attention_k_eq_v") and not windowed,
        reuses_kv=at >= layers - last,
        gated=config.flag("attn_output_gate") or _gates(config),
        capped=config.has("attn_logit_softcapping", "attn_logit_softcap"),
        sinks=_sinks(config, windowed=windowed),
        in_part=_rotates_in_part(config),
        eager=kind_of(config) in EAGER,
        unfused=kind_of(config) in UNFUSED,
        rounded=config.text("model_type") in ROUNDED,
        dropped=is_dropped(config, SCORES_DROPPED),
    )


def _rotates_in_part(config: Fields) -> bool:
    """Whether a part of each head stays as it is and is joined again to the rotated one."""
    inner = config.inner("rope_parameters").raw
    for told in (inner, config.raw):
        share = told.get("partial_rotary_factor", told.get("rotary_pct"))
        if isinstance(share, int | float):
            return share < 1
    return False


def _gates(config: Fields) -> bool:
    """Before ``attn_output_gate`` was written down, every such hybrid had the gate."""
    hybrid = config.has("linear_num_value_heads") and "attn_output_gate" not in config
    partial = "partial_rotary_factor" in config.inner("rope_parameters")
    return hybrid and (partial or config.has("full_attention_interval", "partial_rotary_factor"))


def _sinks(config: Fields, *, windowed: bool) -> bool:
    """Where a field tells of a score beside those of the keys, for layers of this kind."""
    if kind_of(config) in SINKING:
        return True
    own = "add_swa_attention_sink_bias" if windowed else "add_full_attention_sink_bias"
    if windowed and own not in config and config.text("model_type") in ROUNDED:
        return True
    return config.flag(own, "attention_sink", "use_attention_sinks") or config.has(
        "learnable_sink_init"
    )


def is_dropped(config: Fields, names: tuple[str, ...]) -> bool:
    """Whether any of these shares that are dropped at random is above zero."""
    shares = [config.raw.get(name) for name in names]
    return any(isinstance(share, float) and share > 0 for share in shares)


def _each(config: Fields, name: str, at: int) -> int | None:
    """A number that some configurations write once a layer."""
    listed = config.raw.get(name)
    if isinstance(listed, list) and at < len(listed) and isinstance(listed[at], int):
        return int(listed[at])
    return None


def _kv_heads(config: Fields, heads: int, at: int, *, windowed: bool) -> int:
    if config.flag("multi_query") and not config.flag("new_decoder_architecture"):
        return 1  # whatever number stands beside it
    found = _each(config, "num_key_value_heads", at)
    if windowed:
        found = found or config.whole("swa_num_key_value_heads")
    else:
        found = found or config.whole("num_global_key_value_heads")
    names = ("num_key_value_heads", "n_kv_heads", "num_kv_heads", "n_head_kv", "kv_heads")
    inner = config.inner("attn_config").whole("kv_n_heads")
    return found or config.whole(*names) or inner or heads


def _head_dim(config: Fields, hidden: int, heads: int, *, windowed: bool) -> int:
    own = config.whole("swa_head_dim" if windowed else "global_head_dim")
    found = own or config.whole("head_dim", "attention_head_dim", "kv_channels", "d_kv")
    return found or max(1, hidden // heads)


def _window(config: Fields, mixer: Mixer) -> int | None:
    if mixer is Mixer.CHUNKED:
        return config.whole("attention_chunk_size")
    if mixer is not Mixer.SLIDING:
        return None
    return config.whole(
        "sliding_window", "sliding_window_size", "attention_window_size", "local_attention"
    )


def _latent(config: Fields, mixer: Mixer, heads: int) -> Attention:
    """Multi-head latent attention: what the kernel sees is a plain head of both parts."""
    rope = config.whole("qk_rope_head_dim") or 0
    plain = config.whole("qk_nope_head_dim") or 0
    head = rope + plain or config.whole("qk_head_dim", "head_dim") or 0
    if not head:
        raise ModelConfigError("shapes_missing", "latent attention without a head's width")
    return Attention(
        heads=heads,
        kv_heads=heads,
        head_dim=head,
        value_dim=config.whole("v_head_dim") or head,
        window=_window(config, mixer),
        q_rank=config.whole("q_lora_rank") or 0,
        kv_rank=config.whole("kv_lora_rank") or 0,
        rope_dim=rope,
    )
