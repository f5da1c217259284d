"""Norms of a layer, by the fields that speak of them and by the type of the class.

No field tells how many norms a class has or how they are written, and they are a tenth to a fifth
of what a layer keeps. The types were read off the classes of transformers 5.24, and
tests/contract/viability/test_norms.py holds each against its class.
"""

from dataclasses import dataclass
from typing import Final

from pfid.domain.model import NormKind
from pfid.formats.model_config.fields import Fields

HEAD_NORMS: Final = ("use_qk_norm", "qk_norm", "qk_layernorm", "enable_moe_block")
"""Flags of classes whose queries and keys have norms."""
MEAN_NORMS: Final = ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon")
JOINED: Final = frozenset(
    {
        *("phi3", "phi4_multimodal", "gpt2", "gpt_bigcode", "gpt_neox", "falcon", "bloom", "mpt"),
        *("persimmon", "codegen"),
    }
)
"""Types whose queries, keys and values are one matrix."""


@dataclass(frozen=True, slots=True)
class Norms:
    """What is known of the norms of one layer.

    Attributes:
        each: of the residual's width; None if nobody knows.
        behind: of them those behind the feed-forward; None likewise.
        heads: whether queries and keys have norms; None likewise.
        kind: how they are written; None likewise.
    """

    each: int | None = None
    behind: int | None = None
    heads: bool | None = None
    kind: NormKind | None = None


_LLAMA: Final = Norms(2, 0, False, NormKind.ROUNDED)
_QWEN: Final = Norms(2, 0, True, NormKind.ROUNDED)
_MEANS: Final = Norms(2, 0, False, NormKind.SINGLE)
BY_TYPE: Final = {
    **dict.fromkeys(
        (
            *("llama", "mistral", "mistral3", "ministral3", "mixtral", "qwen2", "qwen2_moe"),
            *("phi3", "granite", "granitemoe", "granitemoeshared", "granitemoehybrid", "smollm3"),
            *("seed_oss", "arcee", "cwm", "ernie4_5", "ernie4_5_moe", "glm", "solar_open"),
            *("deepseek_v2", "deepseek_v3", "bamba", "mimo_v2_flash", "internlm3", "diffllama"),
            *("ministral", "exaone", "minicpm3", "glm4_moe_lite", "youtu"),
        ),
        _LLAMA,
    ),
    **dict.fromkeys(
        (
            *("qwen3", "qwen3_moe", "olmoe", "minimax_m2", "exaone_moe", "lfm2", "lfm2_moe"),
            *("hunyuan_v1_dense", "hunyuan_v1_moe", "dots1", "apertus", "laguna"),
        ),
        _QWEN,
    ),
    "glm4_moe": Norms(2, 0, None, NormKind.ROUNDED),
    "llama4": Norms(2, 0, None, NormKind.ROUNDED),
    "glm4": Norms(4, 1, False, NormKind.ROUNDED),
    "exaone4": Norms(2, 1, True, NormKind.ROUNDED),
    "gpt_oss": Norms(2, 0, False, NormKind.WIDE),
    "gemma": Norms(2, 0, False, NormKind.WIDE),
    "vaultgemma": Norms(2, 0, False, NormKind.WIDE),
    "helium": Norms(2, 0, False, NormKind.WIDE),
    "flex_olmo": Norms(2, 1, True, NormKind.WIDE),
    "gemma2": Norms(4, 1, False, NormKind.WIDE),
    "gemma3": Norms(4, 1, True, NormKind.WIDE),
    "gemma4": Norms(None, None, True, NormKind.WIDE),
    "qwen3_next": Norms(2, 0, True, NormKind.WIDE),
    "qwen3_5": Norms(2, 0, True, NormKind.WIDE),
    "qwen3_5_moe": Norms(2, 0, True, NormKind.WIDE),
    "olmo2": Norms(2, 1, True, NormKind.WIDE),
    "olmo3": Norms(2, 1, True, NormKind.WIDE),
    "mamba": Norms(1, 0, None, NormKind.ROUNDED),
    "mamba2": Norms(1, 0, None, NormKind.ROUNDED),
    "nemotron_h": Norms(1, 0, False, NormKind.WIDE),
    **dict.fromkeys(
        (
            *("starcoder2", "gpt2", "gpt_neo", "gpt_neox", "gpt_bigcode", "opt"),
            *("phimoe", "jais2", "bloom", "mpt", "nemotron", "biogpt"),
        ),
        _MEANS,
    ),
    "cohere2_moe": Norms(1, 0, False, NormKind.WRITTEN),
    "phi": Norms(1, 0, None, NormKind.SINGLE),
    "gptj": Norms(1, 0, False, NormKind.SINGLE),
    "codegen": Norms(1, 0, False, NormKind.SINGLE),
    "persimmon": Norms(2, 0, None, NormKind.SINGLE),
    "stablelm": Norms(2, 0, None, NormKind.SINGLE),
    "cohere": Norms(1, 0, None, NormKind.WRITTEN),
    "cohere2": Norms(1, 0, False, NormKind.WRITTEN),
}
"""Types by how their norms are, without ``_text`` behind them."""


def norms_of(text: Fields) -> Norms:
    """What fields and type tell; caps are spoken of by classes that have no norms for them."""
    kind = text.text("model_type", "norms_of").removesuffix("_text")
    known = BY_TYPE.get(kind, Norms())
    each = _by_caps(text)
    return Norms(
        each=known.each or each,
        behind=1 if each and known.each is None else known.behind,
        heads=True if text.flag(*HEAD_NORMS) else known.heads,
        kind=known.kind,
    )


def _by_caps(text: Fields) -> int | None:
    """Where soft caps are spoken of, norms stand behind mixer and feed-forward as well."""
    if "final_logit_softcapping" not in text.raw and "query_pre_attn_scalar" not in text.raw:
        return None
    return 8 if text.flag("enable_moe_block") else 4


def is_joined(text: Fields) -> bool:
    """Whether queries, keys and values are one matrix."""
    return text.text("model_type").removesuffix("_text") in JOINED
