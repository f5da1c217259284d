"""What the names of a checkpoint's tensors tell: head, towers, further-token heads, prefix."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pfid.formats.safetensors import Tensor

HEADS: Final = ("lm_head.weight", "output.weight", "language_model.lm_head.weight")
_TOWER: Final = re.compile(
    r"(?:^|\.)(?:visual|vision_\w+|vision|audio_\w+|audio|image_\w+|speech_\w+|embed_(?:vision|audio)"
    r"|connector|mm_projector|multi_?modal_projector)\."
)
_MTP: Final = re.compile(r"(?:^|\.)(?:mtp|nextn|mtp_layers|mtp_block)\b")
_MTP_OWN: Final = re.compile(r"^(?:eh_proj|enorm|hnorm|shared_head)\.")
"""What only a layer has that predicts further tokens, where it stands behind the others."""
_LAYER: Final = re.compile(r"^(?P<prefix>(?:\w+\.)*?(?:layers|h|blocks))\.\d+\.")
_NORM: Final = re.compile(r"(?:norm\w*|ln_\w+|layernorm)\.weight$")
_NORM_BIAS: Final = re.compile(r"(?:norm\w*|ln_\w+|layernorm)\.bias$")
_HEAD_NORM: Final = re.compile(r"(?:^|[._])(?:q|k|v|query|key)_?(?:layer)?norm")
_INSIDE: Final = re.compile(r"(?:mamba|mixer|linear_attn|ssm|conv)\.\w*norm|_a_(?:layer)?norm")
_JOINED: Final = re.compile(r"\.(?:qkv_proj|query_key_value|c_attn|Wqkv|W_pack|qkv)\.weight$")
_BEHIND: Final = re.compile(r"post_?(?:feedforward|feed_forward|ffn|mlp|moe)")
_SINK: Final = re.compile(r"\.(?:\w*_)?sinks?(?:_bias)?$")
_NUMBER: Final = re.compile(r"(?<![^.])\d+(?![^.])")
_NO_LINEAR: Final = re.compile(r"norm|embed|conv|patch_embed|position|ln_")


def has_head(names: Iterable[str]) -> bool:
    """Whether an output head of its own is stored."""
    return any(name in HEADS for name in names)


def tower_modules(names: Iterable[str], tensors: Sequence[Tensor] = ()) -> Counter[str]:
    """Vision and audio modules that look linear, by path without its numbers, with their count.

    With shapes only two-dimensional weights count; without, weights whose name is of no norm,
    embedding or convolution.
    """
    if tensors:
        two = {t.name for t in tensors if len(t.shape) == 2}
        names = [name for name in names if name in two]
    found = (name for name in names if is_tower(name) and _may_be_linear(name))
    return Counter(_NUMBER.sub("#", name.removesuffix(".weight")) for name in found)


def is_tower(name: str) -> bool:
    """Whether a tensor belongs to what sees or hears."""
    return _TOWER.search(name) is not None


def further_tensors(names: Sequence[str], prefix: str, layers: int = 0) -> frozenset[str]:
    """Tensors of heads that predict further tokens.

    Some stand under a name of their own; others as one more layer behind the decoder's.

    Args:
        names: of all tensors.
        prefix: what stands before the numbers of the decoder's layers.
        layers: how many the decoder has, where layers behind it are such heads; else 0.
    """
    numbered = {name: _within(name, prefix) for name in names}
    own = {number for number, rest in numbered.values() if _MTP_OWN.search(rest)}
    return frozenset(
        name
        for name, (number, _) in numbered.items()
        if _MTP.search(name) or number in own or 0 < layers <= number
    )


def _within(name: str, prefix: str) -> tuple[int, str]:
    """Number of the decoder's layer and the name in it; -1 outside."""
    if not prefix or not name.startswith(f"{prefix}."):
        return -1, ""
    number, _, rest = name.removeprefix(f"{prefix}.").partition(".")
    return (int(number), rest) if number.isdecimal() and number.isascii() else (-1, "")


def text_prefix(names: Iterable[str]) -> str:
    """What stands before the numbers of the decoder's layers: most tensors have it."""
    counted: Counter[str] = Counter()
    for name in names:
        found = _LAYER.match(name)
        if found and not is_tower(name):
            counted[found["prefix"]] += 1
    return counted.most_common(1)[0][0] if counted else ""


@dataclass(frozen=True, slots=True)
class LayerNorms:
    """Norms of the widest layer: of the residual's width, of those behind it, of heads; biases.

    Norms inside a mixer (of what it gives out, of latent queries and keys) are the mixer's own.
    """

    wide: int | None
    behind: int | None
    heads: bool | None
    biased: bool | None


def layer_norms(names: Iterable[str], prefix: str) -> LayerNorms:
    """Which norms the tensors of the decoder's layers name."""
    layers: dict[str, set[str]] = {}
    biased = False
    for name in names:
        if prefix and name.startswith(f"{prefix}."):
            number, _, rest = name.removeprefix(f"{prefix}.").partition(".")
            biased = biased or _NORM_BIAS.search(rest) is not None
            if rest.endswith("norm.weight") or _NORM.search(rest):
                layers.setdefault(number, set()).add(rest)
    if not layers:
        return LayerNorms(None, None, None, None)
    heads = {rest for found in layers.values() for rest in found if _HEAD_NORM.search(rest)}
    own = {rest for found in layers.values() for rest in found if _INSIDE.search(rest)}
    widest = max((found - heads - own for found in layers.values()), key=len)
    behind = sum(bool(_BEHIND.search(n)) for n in widest)
    return LayerNorms(len(widest), behind, bool(heads), biased)


def is_joined(names: Iterable[str], prefix: str) -> bool:
    """Whether queries, keys and values of a decoder layer are one tensor."""
    return any(_JOINED.search(name) for name in names if name.startswith(f"{prefix}."))


def has_sinks(names: Iterable[str]) -> bool:
    """Whether attention has a learned score beside those of the keys."""
    return any(_SINK.search(name) for name in names)


def _may_be_linear(name: str) -> bool:
    plain = name.endswith(".weight") and not _NO_LINEAR.search(name)
    return plain or name.endswith((".linear.weight", ".embedding_projection.weight"))
