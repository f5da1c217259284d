"""Names of tensors, as far as they can be compared between classes that name modules otherwise."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

_WRAPPERS: Final = frozenset(
    {"model", "language_model", "text_model", "transformer", "base_model", "module", "decoder"}
    | {"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "base_layer"}
)
_NEWER: Final = {"block_sparse_moe": "mlp"}
"""What transformers calls otherwise since it loads under other names than it saves."""
_BUFFERS: Final = ("rotary_emb.inv_freq", "masked_bias", "position_ids", "rotary_pos_emb.inv_freq")
_WRITERS: Final = re.compile(
    r"(?:^|\.)(?:o_proj|out_proj|wo|c_proj|dense|attn_output|linear_attn\.out_proj|down_proj|w2"
    r"|fc2|ffn_down|dense_4h_to_h|embed_tokens|wte|tok_embeddings|word_embeddings)(?:\.|$)"
)
_EXPERTS: Final = re.compile(r"(?:^|\.)experts?(?:\.|$)")
_FURTHER: Final = re.compile(
    r"^(?P<layer>(?:.+\.)?(?:layers|h|blocks)\.\d+)\.(?:eh_proj|enorm|hnorm|shared_head)\."
)
"""What only a layer has that predicts further tokens, where it stands behind the others."""
_IN_LAYER: Final = re.compile(r"^(?P<layer>(?:.+\.)?(?:layers|h|blocks)\.\d+)\.")
_PASSED_BY: Final = re.compile(
    r"(?:^|\.)(?:visual|vision_\w+|vision|audio_\w+|audio|image_\w+|multi_modal_projector"
    r"|mtp|nextn|mtp_layers|mtp_block)(?:\.|$)"
)
HEAD: Final = re.compile(r"(?:^|\.)(?:lm_head|output|embed_out)\.weight$")
EMBEDDING: Final = re.compile(
    r"(?:^|\.)(?:embed_tokens|wte|tok_embeddings|word_embeddings|embed_in)\.weight$"
)


def plain(name: str) -> str:
    """A name without the modules that only wrap others, and by the newer word for one."""
    parts = (_NEWER.get(part, part) for part in name.split("."))
    return ".".join(part for part in parts if part not in _WRAPPERS)


def by_plain_name(names: Iterable[str]) -> dict[str, str]:
    """Full names by plain ones, where those mean one tensor alone."""
    listed = list(names)
    counted = Counter(map(plain, listed))
    return {short: name for name in listed if counted[short := plain(name)] == 1}


def is_buffer(name: str) -> bool:
    """Whether it is computed when a model is made, and not a weight."""
    return name.endswith(_BUFFERS)


def writes_residual(name: str) -> bool:
    """Whether it writes to the residual stream: what an abliteration changes."""
    return _WRITERS.search(name) is not None


def is_expert(name: str) -> bool:
    """Whether it belongs to experts, which are kept singly or stacked."""
    return _EXPERTS.search(name) is not None


def passed_by(names: Iterable[str]) -> frozenset[str]:
    """Those that a class for text alone leaves out: what sees, hears or predicts further.

    Further tokens are predicted by modules of their own name, or by one more layer behind the
    decoder's, which is known by what only such a layer has.
    """
    listed = list(names)
    further = {found["layer"] for name in listed if (found := _FURTHER.match(name))}
    return frozenset(
        name
        for name in listed
        if _PASSED_BY.search(name)
        or ((found := _IN_LAYER.match(name)) and found["layer"] in further)
    )
