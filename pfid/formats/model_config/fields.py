"""Typed reading of a configuration that anybody may have written."""

import json
from typing import Any, Final

from pfid.domain.errors import PfidError

WHOLE_MAX: Final = 1 << 40
LAYERS_MAX: Final = 10_000
"""More layers than any model has; a configuration that says more is no configuration."""

SIZES: Final = (
    *("hidden_size", "n_embd", "d_model", "num_hidden_layers", "n_layer", "vocab_size"),
    *("num_attention_heads", "n_head", "num_key_value_heads", "n_kv_heads", "num_kv_heads"),
    *("n_head_kv", "head_dim", "v_head_dim", "q_lora_rank", "kv_lora_rank", "qk_rope_head_dim"),
    *("qk_nope_head_dim", "swa_num_key_value_heads", "num_global_key_value_heads"),
    *("intermediate_size", "ffn_dim", "n_inner", "moe_intermediate_size", "num_experts"),
    *("num_local_experts", "n_routed_experts", "n_shared_experts", "num_experts_per_tok"),
)
"""Fields that every class takes for a size; none of them has a number that means none."""


class ModelConfigError(PfidError):
    """A configuration that cannot be understood; ``reason`` is a code of the checks."""

    def __init__(self, reason: str, text: str) -> None:
        """Keep the code beside the sentence."""
        super().__init__(text)
        self.reason = reason


def parsed(text: str | bytes, source: str) -> dict[str, Any]:
    """One JSON object; ``Infinity`` and ``NaN`` are taken as Python writes them.

    Raises:
        ModelConfigError: ``config_unreadable``, with the line where it breaks off.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelConfigError("config_unreadable", f"{source}: {error}") from error
    if not isinstance(found, dict):
        raise ModelConfigError("config_unreadable", f"{source}: it is no JSON object")
    return found


class Fields:
    """The fields of one object of a configuration; what has another type is not there."""

    def __init__(self, raw: dict[str, Any]) -> None:
        """Keep them."""
        self.raw = raw

    def __contains__(self, name: str) -> bool:
        """Whether a field is there and says something."""
        return self.raw.get(name) is not None

    def has(self, *names: str) -> bool:
        """Whether any of the fields says something."""
        return any(name in self for name in names)

    def whole(self, *names: str) -> int | None:
        """The first of the fields that is a whole number from 0."""
        for name in names:
            value = self.raw.get(name)
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= WHOLE_MAX:
                return value
        return None

    def flag(self, *names: str) -> bool:
        """Whether any of the fields is true."""
        return any(self.raw.get(name) is True for name in names)

    def text(self, *names: str) -> str:
        """The first of the fields that is text, else ""."""
        found = (self.raw.get(name) for name in names)
        return next((value for value in found if isinstance(value, str)), "")

    def listed(self, *names: str) -> list[Any] | None:
        """The first of the fields that is a list with something in it."""
        found = (self.raw.get(name) for name in names)
        return next((value for value in found if isinstance(value, list) and value), None)

    def wholes(self, *names: str) -> set[int]:
        """The whole numbers in the first of the fields that is a list."""
        return {n for n in self.listed(*names) or () if isinstance(n, int)}

    def inner(self, name: str) -> "Fields":
        """A nested object, empty where there is none."""
        value = self.raw.get(name)
        return Fields(value if isinstance(value, dict) else {})


def refuse_sizes(config: Fields, source: str) -> None:
    """Refuse a size that is there and is none: left out silently, it would be taken for absent.

    Raises:
        ModelConfigError: ``shapes_missing``, with the field's name and what it says.
    """
    for name in SIZES:
        value = config.raw.get(name)
        each = value if isinstance(value, list) else [value]
        wrong = [n for n in each if _is_no_size(n)]
        if wrong:
            text = f"{source}: {name} is {str(wrong[0])[:40]}, which is no whole number from 0"
            raise ModelConfigError("shapes_missing", text)


def _is_no_size(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False  # lists of layers and objects are read elsewhere
    return Fields({"": value}).whole("") is None


def kind_of(config: Fields) -> str:
    """The type of the class that is made of it, without ``_text`` behind it."""
    return config.text("model_type", "norms_of").removesuffix("_text")


def hidden_of(config: Fields) -> int | None:
    """Width of the residual stream."""
    return config.whole("hidden_size", "n_embd", "d_model", "dim", "model_dim")


def layers_of(config: Fields) -> int | None:
    """How many layers; some configurations only list them."""
    told = config.whole(
        "num_hidden_layers", "n_layer", "n_layers", "num_layers", "depth", "num_decoder_layers"
    )
    listed = config.listed("layers_block_type", "layer_types")
    return len(listed) if told is None and listed else told


def heads_of(config: Fields) -> int | None:
    """How many heads queries have."""
    return config.whole("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_heads")
