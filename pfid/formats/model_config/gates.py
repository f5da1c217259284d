"""Whether a class has a gate beside its first matrix, which no field tells.

A class with a gate has it whatever its activation, and one without gets none by another. The types
were read off the parameters of transformers' classes (5.24), and
tests/contract/viability/test_gates.py holds them against the installed ones, with an activation
that is usual with gates and with one that is not. Of a type that is not here the activation and
the fields of old classes speak.
"""

from typing import Final

from pfid.formats.model_config.fields import Fields, kind_of

GATED: Final = frozenset(
    {
        *("aria", "axk1", "bamba", "bitnet", "cohere", "cohere2", "cohere2_moe", "cwm"),
        *("deepseek_v2", "deepseek_v3", "diffllama", "doge", "dots1", "dots3_note", "ernie4_5"),
        *("ernie4_5_moe", "exaone", "exaone4", "exaone_moe", "falcon_h1", "flex_olmo", "flint"),
        *("gemma", "gemma2", "gemma3", "gemma4", "gemma4_unified", "glm", "glm4", "glm4_moe"),
        *("glm4_moe_lite", "gpt_oss", "granite", "granite_swa", "granitemoe", "granitemoe_swa"),
        *("granitemoehybrid", "granitemoeshared", "helium", "hunyuan_v1_dense", "hunyuan_v1_moe"),
        *("hy_v3", "hyperclovax", "internlm3", "iquestcoder", "jamba", "kolibri1", "laguna"),
        *("lara_mini", "lfm2", "lfm2_moe", "lfm3", "llama", "llama4", "mellum", "mimo_v2_flash"),
        *("minicpm3", "minimax", "minimax_m2", "minimax_m3_vl", "ministral", "ministral3"),
        *("mistral", "mixtral", "olmo", "olmo2", "olmo3", "olmo_hybrid", "olmoe", "phi3"),
        *("phimoe", "qwen2", "qwen2_moe", "qwen3", "qwen3_5", "qwen3_5_moe", "qwen3_moe"),
        *("qwen3_next", "sarvam_mla", "sarvam_moe", "seed_oss", "smollm3", "solar_open"),
        *("stablelm", "vaultgemma", "youtu", "zaya"),
    }
)
"""Types of three matrices, without ``_text`` behind them."""
PLAIN: Final = frozenset(
    {
        *("apertus", "apertus1p5", "arcee", "bert", "bert-generation", "big_bird", "biogpt"),
        *("bloom", "camembert", "codegen", "ctrl", "data2vec-text", "ernie", "falcon", "gpt-sw3"),
        *("gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox", "gpt_neox_japanese", "gptj", "jais2"),
        *("megatron-bert", "mpt", "nanochat", "nemotron", "nemotron_h", "openai-gpt", "opt"),
        *("persimmon", "phi", "roberta", "roberta-prelayernorm", "roformer", "starcoder2"),
        *("xlm-roberta", "xlm-roberta-xl"),
    }
)
"""Types of two."""
UNUSUAL: Final = ("relu2", "relu", "gelu_new", "gelu_fast", "xielu")
"""Activations that classes with gates seldom have."""
OLD: Final = (
    *("n_embd", "n_inner", "ffn_dim", "d_ff", "expansion_ratio"),
    "apply_residual_connection_post_layernorm",
)
"""Fields of classes from before gates."""


def is_gated(config: Fields, activation: str) -> bool:
    """By the class where its type is known, else by what usually goes together."""
    kind = kind_of(config)
    if kind in GATED or kind in PLAIN:
        return kind in GATED
    return _by_fields(config, activation)


def _by_fields(config: Fields, act: str) -> bool:
    if act in UNUSUAL:
        return False
    plain_norm = config.has("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon")
    if plain_norm and "rms_norm_eps" not in config and act.startswith(("gelu", "relu")):
        return False
    old = config.has(*OLD) or "alibi" in config
    return not (old and act.startswith(("gelu", "relu"))) and not (old and not act)
