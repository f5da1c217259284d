"""How each layer mixes tokens, wherever a configuration says so.

A word is believed by what stands beside it: ``hybrid_layer_pattern`` with the head counts of a
sliding window is a pattern of windows, ``hybrid_override_pattern`` is a string of Mamba blocks, and
``cache_implementation: hybrid`` is neither.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pfid.domain.model import Mixer
from pfid.formats.model_config.fields import Fields, ModelConfigError

WORDS: Final = {
    "full_attention": Mixer.FULL,
    "attention": Mixer.FULL,
    "full": Mixer.FULL,
    "global": Mixer.FULL,
    "global_attention": Mixer.FULL,
    "sliding_attention": Mixer.SLIDING,
    "reference_sliding_attention": Mixer.SLIDING,
    "window_attention": Mixer.SLIDING,
    "sliding": Mixer.SLIDING,
    "local": Mixer.SLIDING,
    "local_attention": Mixer.SLIDING,
    "swa": Mixer.SLIDING,
    "chunked_attention": Mixer.CHUNKED,
    "indexed_attention": Mixer.SPARSE,
    "deepseek_sparse_attention": Mixer.SPARSE,
    "qwen_sparse_attention": Mixer.SPARSE,
    "compressed_sparse_attention": Mixer.SPARSE,
    "heavily_compressed_attention": Mixer.SPARSE,
    "minimax_m3_sparse": Mixer.SPARSE,
    "linear_attention": Mixer.DELTA,
    "lightning_attention": Mixer.DELTA,
    "gated_deltanet": Mixer.DELTA,
    "kda": Mixer.DELTA,
    "mamba": Mixer.MAMBA,
    "mamba1": Mixer.MAMBA,
    "mamba2": Mixer.MAMBA,
    "recurrent": Mixer.MAMBA,
    "ssm": Mixer.MAMBA,
    "conv": Mixer.CONV,
    "hybrid": Mixer.HYBRID,
    "hybrid_sliding": Mixer.HYBRID,
    "hybrid_attention": Mixer.HYBRID,
    "moe": Mixer.NONE,
    "mlp": Mixer.NONE,
}
LETTERS: Final = {
    "M": Mixer.MAMBA,
    "*": Mixer.FULL,
    "-": Mixer.NONE,
    "E": Mixer.NONE,
    "G": Mixer.DELTA,
    "D": Mixer.DELTA,
}
BRANCHES: Final = ("mamba_d_ssm", "mamba_n_heads", "mamba_d_state", "mamba_num_heads")
SINGLE: Final = ("state_size", "ssm_state_size", "d_state", "mamba_d_state")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixers:
    """What was found.

    Attributes:
        of: one mixer a layer.
        told: the field that told.
        blocks: letters of a pattern string, where a block is a mixer or a feed-forward.
        silent: whether only a default of the class can tell.
        notes: false friends, by code.
    """

    of: tuple[Mixer, ...]
    told: str
    blocks: str = ""
    silent: bool = False
    notes: tuple[tuple[str, str], ...] = ()


def mixers_of(config: Fields, layers: int, own: bool = True) -> Mixers:  # noqa: FBT001, FBT002
    """Ask every place in turn; the most explicit comes first.

    Args:
        config: the text decoder's part.
        layers: how many it has.
        own: whether a lone window or chunk may be taken for all layers.

    Raises:
        ModelConfigError: ``layers_contradict`` if a list has another length than there are layers.
    """
    for place in (_listed, _pattern_string, _window_pattern, *PLACES):
        found = place(config, layers)
        if found is not None:
            return _whole(found, layers)
    return _by_fields(config, layers) if own else Mixers(of=(Mixer.FULL,) * layers, told="")


def _whole(found: Mixers, layers: int) -> Mixers:
    if len(found.of) == layers:
        return found
    raise ModelConfigError(
        "layers_contradict", f"{found.told} speaks of {len(found.of)} layers, there are {layers}"
    )


def _listed(config: Fields, layers: int) -> Mixers | None:
    for name in ("layer_types", "layers_block_type", "block_types", "layer_block_type"):
        words = config.listed(name)
        if words is None or not all(isinstance(word, str) for word in words):
            continue
        if name == "block_types":  # a pattern that is repeated
            words = [words[at % len(words)] for at in range(layers)]
        recurrent = _recurrent_word(config)
        mixers = tuple(_word(word, recurrent) for word in words)
        blocks = _blocks(words, mixers, alone=config.text("model_type") == "nemotron_h")
        unknown = sorted({w for w, m in zip(words, mixers, strict=True) if m is Mixer.UNKNOWN})
        notes = tuple(("layer_type_unknown", f"{name} holds {w[:60]!r}") for w in unknown[:5])
        return Mixers(of=mixers, told=name, blocks=blocks, notes=notes)
    return None


def _blocks(words: list[str], mixers: tuple[Mixer, ...], *, alone: bool) -> str:
    """Letters of the blocks where a feed-forward is one of its own (``alone``: always), else ""."""
    if not alone and not {"mlp", "moe"} & set(words):
        return ""
    own = {"mlp": "-", "moe": "E"}
    of = {Mixer.MAMBA: "M", Mixer.DELTA: "G"}
    return "".join(own.get(w, of.get(m, "*")) for w, m in zip(words, mixers, strict=True))


def _word(word: str, recurrent: Mixer) -> Mixer:
    mixer = WORDS.get(word.lower(), Mixer.UNKNOWN)
    return recurrent if mixer is Mixer.DELTA else mixer


def _recurrent_word(config: Fields) -> Mixer:
    """What a class calls linear attention is a Mamba where only a Mamba's shapes stand beside."""
    delta = config.has("linear_num_value_heads", "linear_num_key_heads", "linear_attn_config")
    return Mixer.DELTA if delta or not config.has(*SINGLE, "mamba_expand") else Mixer.MAMBA


def _pattern_string(config: Fields, layers: int) -> Mixers | None:  # noqa: ARG001 - one shape of all places
    name = "hybrid_override_pattern"
    text = config.text(name)
    if not text:
        return None
    blocks = "".join(letter for letter in text if letter not in "| ")
    mixers = tuple(LETTERS.get(letter, Mixer.UNKNOWN) for letter in blocks)
    unknown = sorted({b for b, m in zip(blocks, mixers, strict=True) if m is Mixer.UNKNOWN})
    notes = tuple(("layer_type_unknown", f"{name} holds {letter!r}") for letter in unknown[:5])
    return Mixers(of=mixers, told=name, blocks=blocks, notes=notes)


def _window_pattern(config: Fields, layers: int) -> Mixers | None:  # noqa: ARG001
    """A list of 0 and 1 beside window shapes: 1 is a window (MiMo); without them, who knows."""
    name = "hybrid_layer_pattern"
    marks = config.listed(name)
    windows = config.has("swa_num_attention_heads", "sliding_window", "sliding_window_size")
    if marks is None or not set(map(repr, marks)) <= {"0", "1"}:
        return None
    if not windows:
        mixers = tuple(Mixer.UNKNOWN if mark else Mixer.FULL for mark in marks)
        note = ("hybrid_untold", f"{name} marks layers and nothing says as what")
        return Mixers(of=mixers, told=name, notes=(note,))
    mixers = tuple(Mixer.SLIDING if mark else Mixer.FULL for mark in marks)
    note = ("hybrid_means_window", f"{name} marks sliding windows, not linear attention")
    return Mixers(of=mixers, told=name, notes=(note,))


def _interval(config: Fields, layers: int) -> Mixers | None:
    every = config.whole("full_attention_interval")
    if not every or not config.has("linear_num_value_heads", "linear_num_key_heads"):
        return None
    return _by_position(layers, "full_attention_interval", lambda at: (at + 1) % every == 0)


def _period(config: Fields, layers: int) -> Mixers | None:
    every = config.whole("attn_layer_period")
    if not every:
        return None
    offset = config.whole("attn_layer_offset") or 0
    return _by_position(
        layers, "attn_layer_period", lambda at: at % every == offset, other=Mixer.MAMBA
    )


def _indices(config: Fields, layers: int) -> Mixers | None:
    for name in ("attn_layer_indices", "full_attn_idxs", "attention_layer_idx"):
        if config.listed(name) is not None:
            at = config.wholes(name)
            other = Mixer.CONV if config.has("conv_L_cache") else Mixer.MAMBA
            return _by_position(layers, name, at.__contains__, other=other)
    return None


def _linear_table(config: Fields, layers: int) -> Mixers | None:
    """Lists of layer numbers from 1 in an object of its own (Kimi's)."""
    inner = config.inner("linear_attn_config")
    full = inner.wholes("full_attn_layers")
    if not full:
        return None
    return _by_position(layers, "linear_attn_config", lambda at: at + 1 in full)


def _attention_marks(config: Fields, layers: int) -> Mixers | None:  # noqa: ARG001
    marks = config.listed("attn_type_list")
    if marks is None:
        return None
    mixers = tuple(Mixer.FULL if mark == 1 else Mixer.DELTA for mark in marks)
    return Mixers(of=mixers, told="attn_type_list")


def _sliding_rhythm(config: Fields, layers: int) -> Mixers | None:
    if not config.whole("sliding_window"):
        return None
    name = "sliding_window_pattern"
    every = config.whole(name, "_sliding_window_pattern")
    letters = config.text(name)
    if letters:
        marks = [letters[at % len(letters)].upper() for at in range(layers)]
        return _by_position(layers, name, lambda at: marks[at] == "G", other=Mixer.SLIDING)
    if not every:
        return None
    return _by_position(layers, name, lambda at: (at + 1) % every == 0, other=Mixer.SLIDING)


def _sliding_switch(config: Fields, layers: int) -> Mixers | None:
    """``use_sliding_window`` decides whether a window that is written down is used at all."""
    switch = config.raw.get("use_sliding_window")
    if not isinstance(switch, bool):
        return None
    if not switch or not config.whole("sliding_window"):
        return Mixers(of=(Mixer.FULL,) * layers, told="use_sliding_window")
    first = config.whole("max_window_layers") or 0
    return _by_position(layers, "max_window_layers", lambda at: at < first, other=Mixer.SLIDING)


def _chunk_rhythm(config: Fields, layers: int) -> Mixers | None:
    marks = config.listed("no_rope_layers")
    every = config.whole("no_rope_layer_interval")
    if not config.whole("attention_chunk_size"):
        return None
    if marks is not None and len(marks) == layers:
        return _by_position(layers, "no_rope_layers", lambda at: not marks[at], other=Mixer.CHUNKED)
    if not every:
        return None
    return _by_position(
        layers, "no_rope_layer_interval", lambda at: (at + 1) % every == 0, other=Mixer.CHUNKED
    )


Place = Callable[[Fields, int], Mixers | None]
PLACES: Final[tuple[Place, ...]] = (
    _linear_table,
    _attention_marks,
    _interval,
    _period,
    _indices,
    _sliding_rhythm,
    _sliding_switch,
    _chunk_rhythm,
)


def _by_position(
    layers: int, told: str, is_full: Callable[[int], bool], *, other: Mixer = Mixer.DELTA
) -> Mixers:
    mixers = tuple(Mixer.FULL if is_full(at) else other for at in range(layers))
    return Mixers(of=mixers, told=told)


def _by_fields(config: Fields, layers: int) -> Mixers:
    """No field speaks of single layers: what all of them have."""
    mixer, told, silent = Mixer.FULL, "", False
    if "attn_layer_indices" in config.raw:  # told, and none
        return Mixers(of=(Mixer.MAMBA,) * layers, told="attn_layer_indices")
    attends = config.has("num_attention_heads", "n_head", "n_heads", "num_heads")
    if config.has(*BRANCHES) and attends:
        mixer, told = Mixer.HYBRID, next(n for n in BRANCHES if n in config)
    elif config.has(*SINGLE) and not config.has("num_key_value_heads"):
        mixer, told = Mixer.MAMBA, next(n for n in SINGLE if n in config)
    elif config.whole("attention_chunk_size"):
        mixer, told, silent = Mixer.CHUNKED, "attention_chunk_size", True
    elif config.whole("sliding_window"):
        mixer, told, silent = Mixer.SLIDING, "sliding_window", True
    return Mixers(of=(mixer,) * layers, told=told, silent=silent, notes=_false_friends(config))


def _false_friends(config: Fields) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, Any]] = [
        (name, value) for name, value in config.raw.items() if _says_hybrid(name, value)
    ]
    return tuple(
        ("hybrid_is_a_word", f"{name[:60]} says hybrid and names no layer") for name, _ in found[:3]
    )


def _says_hybrid(name: str, value: Any) -> bool:
    return value is not None and ("hybrid" in name or value == "hybrid")
