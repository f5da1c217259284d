"""A model's shapes out of its configuration."""

from typing import Any

from pfid.domain.model import ATTENDING, RECURRENT, FeedForward, Layer, Mixer, ModelShape
from pfid.formats.model_config.attention import DROPPED, attention_of, is_dropped
from pfid.formats.model_config.feed_forward import feed_of
from pfid.formats.model_config.fields import (
    LAYERS_MAX,
    Fields,
    ModelConfigError,
    heads_of,
    hidden_of,
    layers_of,
    refuse_sizes,
)
from pfid.formats.model_config.held import is_held
from pfid.formats.model_config.mixers import Mixers, mixers_of
from pfid.formats.model_config.nesting import text_part
from pfid.formats.model_config.norms import MEAN_NORMS, is_joined, norms_of
from pfid.formats.model_config.quantised import quantised_bits, quantised_format
from pfid.formats.model_config.recurrence import recurrence_of
from pfid.formats.model_config.towers import towers_of
from pfid.formats.model_config.untold import learned_positions, untold

MTP = ("mtp_num_hidden_layers", "num_nextn_predict_layers", "num_mtp_layers", "n_mtp_layers")


def read_config(raw: dict[str, Any], source: str = "config.json") -> ModelShape:
    """Read a configuration in the manner of transformers.

    Args:
        raw: the JSON object.
        source: its file's name.

    Raises:
        ModelConfigError: ``no_model`` if it describes no text decoder, ``shapes_missing`` also
            for a size that is no whole number, ``layers_contradict`` as the parts say.
    """
    whole = Fields(raw)
    text = _typed(text_part(whole), whole)
    hidden, depth = hidden_of(text), layers_of(text)
    if not hidden or not depth:
        raise ModelConfigError("no_model", f"{source}: it tells no hidden width or layer count")
    if depth > LAYERS_MAX:
        raise ModelConfigError("shapes_missing", f"{source}: {depth} layers are no model's")
    refuse_sizes(text, source)
    mixers = mixers_of(text, depth)
    layers = tuple(_layer(text, mixers, at, hidden) for at in range(depth))
    why = untold(whole, text) or _without_feed(layers)
    norms = norms_of(text)
    return ModelShape(
        source=source,
        model_type=whole.text("model_type")[:80] or text.text("model_type")[:80],
        classes=tuple(c[:80] for c in whole.listed("architectures") or () if isinstance(c, str)),
        hidden=hidden,
        vocabulary=text.whole("vocab_size") or whole.whole("vocab_size") or 0,
        tied=_tied(whole, text),
        layers=layers,
        dtype=_dtype(text) or _dtype(whole),
        towers=tuple(towers_of(whole)),
        mtp_layers=text.whole(*MTP) or whole.whole(*MTP) or 0,
        per_layer_inputs=text.whole("hidden_size_per_layer_input") or 0,
        soft_capped=bool(text.raw.get("final_logit_softcapping")),
        quantised=quantised_format(whole, text),
        quantised_bits=quantised_bits(whole, text),
        code="auto_map" in whole or "auto_map" in text,
        silent=mixers.silent,
        positions=text.whole("max_position_embeddings", "n_positions", "max_seq_len") or 0,
        norms=norms.each,
        norms_behind=norms.behind,
        head_norms=norms.heads,
        norm_kind=norms.kind,
        joined=is_joined(text),
        layer_norms=text.has(*MEAN_NORMS) and "rms_norm_eps" not in text,
        dropped=is_dropped(text, DROPPED),
        held=is_held(text),
        untold=why,
        learned=learned_positions(text, hidden),
        notes=(
            *mixers.notes,
            *_contradictions(whole, text),
            *_untold_note(why or _unshaped(layers)),
        ),
    )


def _typed(text: Fields, whole: Fields) -> Fields:
    """A part that names no type is of the type of the whole."""
    kind = whole.text("model_type")
    return text if text.text("model_type") or not kind else Fields({**text.raw, "model_type": kind})


def _untold_note(why: str) -> tuple[tuple[str, str], ...]:
    return (("layout_untold", why),) if why else ()


def _unshaped(layers: tuple[Layer, ...]) -> str:
    lost = [layer for layer in layers if layer.mixer in RECURRENT and layer.recurrence is None]
    kinds = ", ".join(sorted({layer.mixer.value for layer in lost}))
    return f"the shapes of {kinds} layers are not told" if kinds else ""


def _without_feed(layers: tuple[Layer, ...]) -> str:
    """A decoder that only attends is none: the width of its feed-forward is not told."""
    inner = any(layer.feed.dense or layer.feed.expert for layer in layers)
    attends = any(layer.attention is not None for layer in layers)
    return "no width of a feed-forward is told" if attends and not inner else ""


def _at(text: Fields, at: int) -> Fields:
    """The fields of one layer, where some are told for single layers."""
    of = text.inner("per_layer_config").raw
    own = next((of[key] for key in (f"{at:02}", str(at)) if isinstance(of.get(key), dict)), None)
    return Fields({**text.raw, **own}) if own else text


def _layer(whole: Fields, mixers: Mixers, at: int, hidden: int) -> Layer:
    text = _at(whole, at)
    mixer = mixers.of[at]
    block = mixers.blocks[at] if mixers.blocks else ""
    attends = mixer in ATTENDING
    recurs = mixer in RECURRENT and not ("num_mem_blocks" in text and mixer is Mixer.HYBRID)
    alone = mixer is Mixer.MAMBA and heads_of(text) is None  # its inner width is no feed-forward
    return Layer(
        mixer=mixer,
        attention=attention_of(text, mixer, hidden, at, len(mixers.of)) if attends else None,
        recurrence=recurrence_of(text, _branch(text, mixer), hidden) if recurs else None,
        feed=FeedForward() if alone else feed_of(text, hidden, at, block),
    )


def _branch(text: Fields, mixer: Mixer) -> Mixer:
    """What runs beside the attention of a layer that has both."""
    if mixer is not Mixer.HYBRID:
        return mixer
    return Mixer.DELTA if text.has("linear_num_value_heads") else Mixer.MAMBA


def _tied(whole: Fields, text: Fields) -> bool | None:
    """Told by either part; a class that says nothing has a default that only it knows."""
    for part in (whole, text):
        told = part.raw.get("tie_word_embeddings", part.raw.get("tie_embeddings"))
        if isinstance(told, bool):
            return told
    return None


def _dtype(part: Fields) -> str:
    return part.text("dtype", "torch_dtype").removeprefix("torch.")[:20]


def _contradictions(whole: Fields, text: Fields) -> tuple[tuple[str, str], ...]:
    kind = whole.text("model_type")
    names = [c for c in whole.listed("architectures") or () if isinstance(c, str)]
    found = []
    if kind.endswith("_text") and any("ConditionalGeneration" in name for name in names):
        found.append(
            ("class_and_type_differ", "the class is of a multimodal model, the type of its text")
        )
    if text is not whole and whole.has("layer_types"):
        found.append(("two_layer_lists", "layer types stand outside the text part as well"))
    return tuple(found)


def hybrid_mixers(shape: ModelShape) -> tuple[Mixer, ...]:
    """The recurrent mixers it has, each once."""
    return tuple(mixer for mixer in Mixer if mixer in RECURRENT and shape.count(mixer))
