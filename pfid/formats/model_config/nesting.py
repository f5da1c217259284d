"""Which part of a configuration describes the text decoder, and which stand beside it."""

from collections.abc import Iterator
from typing import Final

from pfid.formats.model_config.fields import Fields, hidden_of, layers_of

KNOWN: Final = ("text_config", "llm_config", "language_config", "language_model_config")
DEEPEST: Final = 3
TOWERS: Final = ("vision", "audio", "image", "video", "speech", "visual")


def text_part(config: Fields) -> Fields:
    """The object with the decoder's shapes; the whole one if they stand at the top."""
    for name in KNOWN:
        if name in config and layers_of(config.inner(name)) is not None:
            return config.inner(name)
    if layers_of(config) is not None and hidden_of(config) is not None:
        return config
    return next((part for _, part in _nested(config, 0) if _is_decoder(part)), config)


def tower_parts(config: Fields) -> Iterator[tuple[str, Fields]]:
    """Objects that describe what sees or hears, with their keys."""
    for name, part in named_towers(config):
        if hidden_of(part) is not None or "embed_dim" in part:
            yield name, part


def named_towers(config: Fields) -> Iterator[tuple[str, Fields]]:
    """Objects whose key says that they describe what sees or hears."""
    for name, part in _nested(config, 0):
        told = "model_type" in part or hidden_of(part) is not None
        if any(word in name for word in TOWERS) and told:
            yield name, part


def _is_decoder(part: Fields) -> bool:
    return layers_of(part) is not None and part.whole("vocab_size") is not None


def _nested(config: Fields, depth: int) -> Iterator[tuple[str, Fields]]:
    for name, value in config.raw.items():
        if isinstance(value, dict) and depth < DEEPEST:
            yield name, Fields(value)
            if not any(word in name for word in TOWERS):
                yield from _nested(Fields(value), depth + 1)
