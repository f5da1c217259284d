"""Feed-forward of a layer: dense, experts, shared experts, and which layers have which."""

from collections.abc import Mapping
from typing import Final

from pfid.domain.model import FeedForward
from pfid.formats.model_config.fields import Fields, kind_of
from pfid.formats.model_config.gates import is_gated

EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
TOP_K = (
    "num_experts_per_tok",
    "top_k_experts",
    "num_experts_per_token",
    "experts_per_token",
    "moe_top_k",
    "moe_topk",
    "moe_k",
)
EXPERT_WIDTH = (
    "moe_intermediate_size",
    "expert_ffn_hidden_size",
    "moe_ffn_hidden_size",
    "expert_hidden_dim",
    "expert_intermediate_size",
    "expert_dim",
)
SHARED_WIDTH = (
    "shared_expert_intermediate_size",
    "moe_shared_expert_intermediate_size",
    "shared_intermediate_size",
)
WIDTH = (
    "intermediate_size",
    "n_inner",
    "ffn_dim",
    "ffn_hidden_size",
    "hidden_dim",
    "d_ff",
    "block_ff_dim",
    "dim_ff",
    "dff",
)

WRITTEN_OUT: Final[Mapping[str, float]] = {
    "gelu_new": 3,  # half the input, the hyperbolic tangent, and one more than it
    "gelu_accurate": 3,
    "gelu_python_tanh": 3,
    "gelu_fast": 5,
    "quick_gelu": 1,
    "xielu": 2.5,  # scaled, an exponential, and which side of zero as bytes
}
"""Tensors that activations written out in transformers keep beside their input."""
RESULTS: Final = ("relu", "tanh", "sigmoid")
"""Activations whose gradient follows from what they gave out."""
LEARNED: Final = ("xielu",)
"""Those with a factor of their own, which keeps one more while it trains."""
OWN_ACTIVATION: Final[Mapping[str, str]] = {
    **dict.fromkeys(("gpt2", "gpt_neo", "gptj", "phi"), "gelu_new"),
    **dict.fromkeys(("gemma", "gemma2", "gemma3", "gemma4", "vaultgemma"), "gelu_pytorch_tanh"),
    **dict.fromkeys(("gpt_bigcode", "starcoder2"), "gelu_pytorch_tanh"),
    **dict.fromkeys(("arcee", "jais2", "nanochat", "nemotron"), "relu2"),
    **dict.fromkeys(("bloom", "lfm2", "lfm2_moe"), ""),
    "apertus": "xielu",
    "biogpt": "gelu",
    "opt": "relu",
}
"""What classes have where no field tells; "" for those that read no field."""
CLAMPED: Final = 3
EVERY: Final = frozenset({"llama4"})
"""Types whose class hands every token to all experts, weighed by nothing for those not chosen."""
SHARING: Final = frozenset({"hunyuan_v1_moe"})
"""Types whose class has one shared expert of an expert's width, whatever its configuration says."""


def feed_of(config: Fields, hidden: int, at: int, block: str = "") -> FeedForward:
    """Shapes of what follows the mixer of layer ``at``; ``block`` is its letter in a pattern."""
    if block in ("M", "*", "G", "D"):
        return FeedForward()
    table = _table(config)
    experts = 0 if config.raw.get("is_moe") is False else _number(table, EXPERTS, at)
    gated = is_gated(config, activation_of(config))
    is_moe = experts > 0 and block != "-" and (block == "E" or _is_moe(config, at))
    dense = _dense(config, hidden, at)
    if not is_moe:
        shared = _sum_of(config, SHARED_WIDTH) if "num_local_experts" in config else 0
        return FeedForward(
            dense=shared or dense,
            gated=gated,
            written_out=_written_out(config),
            keeps_result=activation_of(config) in RESULTS,
            learned=activation_of(config) in LEARNED,
        )
    width = _number(table, EXPERT_WIDTH, at) or _experts_of_old(config) or dense
    return FeedForward(
        dense=dense if config.flag("enable_moe_block") else 0,
        experts=experts,
        top_k=min(experts, _number(table, TOP_K, at) or 1),
        expert=width,
        shared=_shared(config, width),
        gated=gated,
        every=config.text("model_type").removesuffix("_text") in EVERY,
        written_out=_written_out(config),
        keeps_result=activation_of(config) in RESULTS,
        learned=activation_of(config) in LEARNED,
    )


def _written_out(config: Fields) -> float:
    """A gate that is clamped is written out as well: clamped, scaled, joined by a one."""
    return CLAMPED if config.has("swiglu_limit") else WRITTEN_OUT.get(activation_of(config), 0)


def activation_of(config: Fields) -> str:
    """Name of the activation; that of the class where no field tells, or none is read."""
    own = OWN_ACTIVATION.get(kind_of(config))
    told = config.text("mlp_hidden_act", "hidden_act", "activation_function", "hidden_activation")
    return "" if own == "" else told or own or ""


def _table(config: Fields) -> Fields:
    """Some configurations keep the experts in an object of their own."""
    own = next(
        (config.inner(n).raw for n in ("moe", "ffn_config", "moe_config") if n in config), {}
    )
    return Fields({**config.raw, **own})


def _number(config: Fields, names: tuple[str, ...], at: int) -> int:
    """A number, or the one of this layer where there is a list."""
    for name in names:
        value = config.raw.get(name)
        if isinstance(value, list) and value and all(isinstance(n, int) for n in value):
            return int(value[min(at, len(value) - 1)])
    return config.whole(*names) or 0


def _dense(config: Fields, hidden: int, at: int) -> int:
    """Inner width; what is adjusted to a multiple is adjusted as its class does."""
    width = _dense_told(config, hidden, at)
    if not config.flag("block_auto_adjust_ff_dim"):
        return width
    multiplier = config.raw.get("block_ffn_dim_multiplier")
    width = 2 * width // 3
    width = int(width * multiplier) if isinstance(multiplier, int | float) else width
    multiple = config.whole("block_multiple_of") or 1
    return -(-width // multiple) * multiple


def _dense_told(config: Fields, hidden: int, at: int) -> int:
    return (
        config.whole("intermediate_size_mlp", "dense_intermediate_size")
        or _number(config, WIDTH, at)
        or config.inner("ffn_config").whole("ffn_hidden_size")
        or _multiple(config) * hidden
    )


def _multiple(config: Fields) -> int:
    """How often the residual's width the inner one is, where only that is told or its default."""
    told = config.whole("expansion_ratio", "intermediate_multiple_size")
    return told or (4 if config.has("n_embd", "n_head", "attention_layers") else 0)


def _experts_of_old(config: Fields) -> int:
    return config.whole("intermediate_size", "ffn_hidden_size") or 0


def _sum_of(config: Fields, names: tuple[str, ...]) -> int:
    value = next((config.raw[name] for name in names if name in config), None)
    if isinstance(value, list):
        return sum(n for n in value if isinstance(n, int))
    return config.whole(*names) or 0


def _shared(config: Fields, width: int) -> int:
    """Width of shared experts in sum.

    ``intermediate_size_mlp`` beside ``intermediate_size`` is the layout whose every expert layer
    has one shared expert of an expert's width; no field counts it.
    """
    found = _sum_of(config, SHARED_WIDTH)
    count = config.whole("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
    always = "intermediate_size_mlp" in config or config.text("model_type") in SHARING
    if always and count is None and not found:
        count = 1
    return found or (count or 0) * width


def _is_moe(config: Fields, at: int) -> bool:
    """Whether layer ``at`` is one with experts."""
    words = config.listed("mlp_layer_types")
    marks = config.listed("moe_layer_freq")
    chosen = config.listed("moe_layers", "moe_layers_enum")
    if words is not None and at < len(words):
        return bool(words[at] != "dense")
    if marks is not None and at < len(marks):
        return bool(marks[at])
    if chosen is not None:
        return at in config.wholes("moe_layers", "moe_layers_enum")
    if at in config.wholes("mlp_only_layers"):
        return False
    if "expert_layer_period" in config:
        every = config.whole("expert_layer_period") or 1
        return at % every == (config.whole("expert_layer_offset") or 0)
    return _in_rhythm(config, at)


def _in_rhythm(config: Fields, at: int) -> bool:
    first = config.whole("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index") or 0
    last = config.whole("moe_layer_end_index")
    if at < first or (last is not None and at > last):
        return False
    from_zero = config.whole("moe_layer_freq")
    if from_zero:
        return at % from_zero == 0
    every = config.whole("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval")
    return not every or (at + 1) % every == 0
