"""Types of models whose layers were held against torch's own tracker of memory.

What a layer keeps for its backward pass follows from how its class is written, which no field
tells. Of each type here two layers of the real class were tracked (full training and adapters, with
and without checkpointing), and every peak lay within the bounds by its tensors' names and by its
configuration alone: tests/bench/model_peaks.py does it again and says which should leave the list
or join it. Of any other type, and of these with another activation, the bounds are far apart, and
verdicts say so.
"""

from typing import Final

from pfid.formats.model_config.feed_forward import OWN_ACTIVATION, activation_of
from pfid.formats.model_config.fields import Fields, kind_of

HELD: Final = frozenset(
    {
        *("apertus", "arcee", "bamba", "biogpt", "bloom", "cohere", "cohere2", "cohere2_moe"),
        *("cwm", "deepseek_v2", "deepseek_v3", "dots1", "ernie4_5", "exaone4", "exaone_moe"),
        *("falcon_h1", "gemma", "gemma2", "gemma3", "gemma4"),
        *("glm", "glm4", "glm4_moe", "gpt2", "gpt_bigcode", "gpt_neo"),
        *("gpt_oss", "gptj", "granite", "granitemoe", "granitemoehybrid"),
        *("granitemoeshared", "helium", "hunyuan_v1_moe", "hy_v3", "jais2"),
        *("laguna", "lfm2", "lfm2_moe", "llama", "llama4", "mamba2", "mimo_v2_flash"),
        *("minimax_m2", "ministral3", "mistral", "mixtral", "nanochat"),
        *("nemotron", "olmo", "olmo2", "olmo3", "opt"),
        *("phi", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_5", "qwen3_5_moe"),
        *("qwen3_moe", "qwen3_next", "seed_oss", "solar_open", "stablelm"),
        *("starcoder2", "vaultgemma"),
    }
)
"""Without ``_text`` behind them."""
ALIKE: Final = frozenset({"silu", "swish", "gelu", "gelu_pytorch_tanh"})
"""Activations that are one operation of torch and keep their input: the tracker tells none of them
from another."""


def is_held(text: Fields) -> bool:
    """Whether a decoder is of a type that was held, with an activation that it was held with.

    Args:
        text: the decoder's part, with its type.
    """
    kind, activation = kind_of(text), activation_of(text)
    own = OWN_ACTIVATION.get(kind, "silu")
    return kind in HELD and (activation in (own, "") or {activation, own} <= ALIKE)
