"""``params.json``: the same shapes in the words of Mistral's own format."""

from typing import Any, Final

WORDS: Final = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "hidden_dim": "intermediate_size",
    "head_dim": "head_dim",
    "vocab_size": "vocab_size",
    "sliding_window": "sliding_window",
    "tied_embeddings": "tie_word_embeddings",
    "max_seq_len": "max_position_embeddings",
    "q_lora_rank": "q_lora_rank",
    "kv_lora_rank": "kv_lora_rank",
    "qk_nope_head_dim": "qk_nope_head_dim",
    "qk_rope_head_dim": "qk_rope_head_dim",
    "v_head_dim": "v_head_dim",
    "quantization": "quantization",
}
EXPERTS: Final = {
    "num_experts": "n_routed_experts",
    "num_experts_per_tok": "num_experts_per_tok",
    "expert_hidden_dim": "moe_intermediate_size",
    "first_k_dense_replace": "first_k_dense_replace",
    "num_shared_experts": "n_shared_experts",
}


CLASS: Final = "mistral"
"""Whose norms every model of this format has; its configuration names no type."""


def as_config(params: dict[str, Any]) -> dict[str, Any]:
    """The fields under the names that the other format has."""
    # this format's own default, and the norms of the one class that reads it
    found: dict[str, Any] = {"tie_word_embeddings": False, "rms_norm_eps": 1e-5, "norms_of": CLASS}
    found |= {new: params[old] for old, new in WORDS.items() if params.get(old) is not None}
    moe = params.get("moe")
    if isinstance(moe, dict):
        found |= {new: moe[old] for old, new in EXPERTS.items() if moe.get(old) is not None}
    vision = params.get("vision_encoder")
    if isinstance(vision, dict):
        found["vision_config"] = vision
    return found
