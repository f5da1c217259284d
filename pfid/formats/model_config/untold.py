"""What a configuration leaves out, so that its sizes cannot be counted from it alone.

Some classes add matrices that no field tells. Where a field stands for such a layout it is named
here; some classes have none, and those go by their type. Each was found by holding the count
against every class of transformers (tests/bench/model_classes.py). Tensors on disk tell the rest.
"""

from typing import Final

from pfid.formats.model_config.feed_forward import EXPERT_WIDTH, EXPERTS
from pfid.formats.model_config.fields import Fields, hidden_of, layers_of
from pfid.formats.model_config.nesting import named_towers

FIELDS: Final = {
    "is_encoder_decoder": "it describes an encoder and a decoder",
    "hc_mult": "its residual is several streams that are mixed",
    "o_lora_rank": "its output projections are of low rank",
    "zero_expert_num": "some of its experts are none, and its layers have two attentions",
    "num_layers_per_stack": "its layers are stacks that are passed several times",
    "n_recurrent_loops": "its layers are passed several times",
    "gated_norm_rank": "its norms have gates",
    "attention_hidden_size": "its attention is shared between layers",
    "num_mem_blocks": "its attention is shared between layers",
    "num_codebooks": "it speaks of codebooks beside a vocabulary",
    "patcher_config": "it reads bytes through decoders of their own",
    "position_bias_num_buckets": "its positions are biases of their own",
    "mem_len": "its attention has weights for relative positions",
    "qk_dim_factor": "its memory cells have projections of their own",
    "perceiver_config": "a resampler stands before the decoder",
}
"""Fields behind which a layout stands that is not read here, with what is meant."""
TYPES: Final = {
    "afmoe": "its attention has a gate",
    "jetmoe": "its attention has experts",
    "bitnet": "whether its feed-forward has a gate",
    "roc_bert": "it has embeddings of shape and sound",
    "xmod": "it has adapters for languages",
    "muse_spark": "its attention has a gate, its experts projections around them",
    "muse_glimmer": "its attention has a gate",
    "video_llava": "it has two towers of one description",
    "granite_docling": "its tower is joined in several places",
    "gemma4_unified_assistant": "it joins the states of another model",
    "pi0": "actions have layers of their own",
    "evolla": "it has layers across to proteins",
}
"""Classes whose configuration has no field for what they add."""
EMBEDDING: Final = (
    "embedding_size",
    "input_embedding_size",
    "word_embed_proj_dim",
    "output_embedding_size",
)
PARTS: Final = ("encoder", "decoder", "encoder_config", "decoder_config", "action_expert_config")
ROTATED: Final = ("rope_theta", "rope_parameters", "rotary_dim", "rotary_pct", "rotary_emb_base")


def untold(whole: Fields, text: Fields) -> str:
    """Why the configuration alone does not give the sizes; "" where it does."""
    for part in (whole, text):
        for name, why in FIELDS.items():
            if part.raw.get(name) not in (None, False, 0):
                return f"{name}: {why}"
        kind = part.text("model_type").removesuffix("_text")
        if kind in TYPES:
            return f"the class adds what no field tells: {TYPES[kind]}"
    hidden = text.whole("hidden_size", "n_embd", "d_model")
    own = text.whole(*EMBEDDING)
    if own and own != hidden:
        return "its embedding has another width than its layers"
    if any(_is_foreign(part) for _, part in named_towers(whole)):
        return "a part that sees or hears is of a kind whose layers are not told"
    if _by_kind(text):
        return "its experts are told by kind and not by layer"
    inner = [name for name in PARTS if whole.inner(name).raw and text is not whole.inner(name)]
    return f"{inner[0]} stands beside the decoder" if inner else ""


def _is_foreign(part: Fields) -> bool:
    """Whether a tower is no stack of layers of one width, or one with experts."""
    depth = layers_of(part) or part.whole("encoder_layers")
    return not depth or not hidden_of(part) or part.has(*EXPERTS)


def _by_kind(text: Fields) -> bool:
    listed = text.listed(*EXPERT_WIDTH, *EXPERTS)
    return listed is not None and len(listed) != layers_of(text)


def learned_positions(text: Fields, hidden: int) -> int:
    """Parameters of positions and segments that may be learned; 0 where heads are rotated."""
    if text.has(*ROTATED) or text.flag("alibi") or "rms_norm_eps" in text:
        return 0
    rows = text.whole("n_positions", "max_position_embeddings", "max_seq_len", "n_ctx") or 0
    return (rows + 2 + (text.whole("type_vocab_size") or 0)) * hidden if rows else 0
