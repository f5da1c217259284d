"""Names in an adapter's file: which modules it adapts, and by which of their tensors.

As PEFT saves them: ``base_model.model.`` and the module's path, then the part of the method, with
the adapter's own name where the file was saved with it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

_PREFIX: Final = re.compile(r"^(?:base_model\.model\.|module\.|_orig_mod\.)+")
_PART: Final = re.compile(
    r"\.(?P<part>lora_(?:embedding_)?[AB]|lora_magnitude_vector|hada_[wt]\d(?:_[ab])?"
    r"|lokr_[wt]\d(?:_[ab])?|ia3_l|oft_[rR]|boft_[RS]|vera_lambda_[bd]|fourierft_spectrum"
    r"|randlora_\w+?|hra_u|trainable_tokens_delta)(?:\.[^.]+)?(?:\.weight)?$"
)
_SAVED: Final = re.compile(
    r"\.(?:modules_to_save|original_module)(?:\.[^.]+)?(?=\.(?:weight|bias)$)"
)
_BIAS: Final = re.compile(r"\.lora_B(?:\.[^.]+)?\.bias$")
_TOKENS: Final = re.compile(r"\.token_adapter$")
"""Where PEFT hangs the rows of an embedding that were trained alone."""
_FACTORS: Final = ("lora_A", "lora_B", "lora_embedding", "hada_w", "lokr_w", "oft_", "vera_lambda")
_NOT_BY_FACTORS: Final = ("lora_magnitude_vector", "ia3_l")


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapted:
    """One module that an adapter holds something of.

    Attributes:
        module: its path, or the name of a tensor that is replaced whole.
        whole: whether it is replaced whole, and not by factors.
        factors: tensors of which none may be zero if it shall change anything.
        parts: its tensors, each by the part of the method that it is.
        name: the tensor that replaces one whole.
    """

    module: str
    whole: bool
    factors: tuple[str, ...] = ()
    parts: tuple[tuple[str, str], ...] = ()
    name: str = ""


def adapted(names: Iterable[str]) -> tuple[Adapted, ...]:
    """The modules of an adapter, in the order of their names."""
    parts: dict[str, dict[str, str]] = {}
    saved = []
    for name in sorted(names):
        bare = _PREFIX.sub("", name)
        if _BIAS.search(bare) is not None:
            parts[_BIAS.sub(".bias", bare)] = {"bias": name}
            continue
        found = _PART.search(bare)
        if found is None:
            saved.append(Adapted(module=_SAVED.sub("", bare), whole=True, name=name))
        else:
            module = _TOKENS.sub("", bare[: found.start()])
            parts.setdefault(module, {})[found["part"]] = name
    by_factors = [
        Adapted(module=module, whole=False, factors=_factors(of), parts=tuple(of.items()))
        for module, of in parts.items()
    ]
    return (*by_factors, *saved)


def _factors(parts: Mapping[str, str]) -> tuple[str, ...]:
    if any(part in parts for part in _NOT_BY_FACTORS):
        return ()
    return tuple(name for part, name in parts.items() if part.startswith(_FACTORS))
