"""A model's shapes and weights out of its files, and where those contradict each other."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pfid.adapters.model_files import ModelFiles
from pfid.bootstrap.viability.candidate import Candidate
from pfid.bootstrap.viability.kernels import class_layers
from pfid.domain.model import ModelShape
from pfid.domain.weights import Weights
from pfid.formats.model_config.fields import Fields, ModelConfigError
from pfid.formats.model_config.nesting import text_part
from pfid.formats.model_config.params import as_config
from pfid.formats.model_config.quantised import packed_format, with_format
from pfid.formats.model_config.read import read_config
from pfid.formats.weights import weights_of
from pfid.spec.ports.viability import ModelFacts


def model_facts(candidate: Candidate) -> ModelFacts:
    """Read them."""
    files = candidate.files
    if files.problems:
        weights = weights_of(files.index, files.shards)
        return ModelFacts(problem=files.problems[0][0], detail=_said(files), weights=weights)
    if files.adapter:
        return ModelFacts(problem="is_adapter", detail="adapter_config.json lies there alone")
    try:
        shape, params = _shapes(files)
    except ModelConfigError as error:
        weights = weights_of(files.index, files.shards)
        return ModelFacts(problem=error.reason, detail=str(error), weights=weights)
    behind = len(shape.layers) if shape is not None and shape.mtp_layers else 0
    weights = weights_of(files.index, files.shards, behind)
    raw = _config(files)
    if shape is not None and shape.silent and raw is not None:
        shape = _completed(candidate, shape, raw, files.config_name)
    if shape is None:
        return ModelFacts(problem="no_model", detail="no config.json there", weights=weights)
    shape = replace(shape, quantised=shape.quantised or packed_format(weights.by_dtype))
    notes = (*shape.notes, *weights.notes, *_notes(shape, params, weights))
    return ModelFacts(shape=shape, weights=weights, params=params, notes=notes)


def _said(files: ModelFiles) -> str:
    return "; ".join(text for _, text in files.problems)


def _shapes(files: ModelFiles) -> tuple[ModelShape | None, ModelShape | None]:
    params = _params(files)
    raw = _config(files)
    return (read_config(raw, files.config_name) if raw is not None else params), params


def _config(files: ModelFiles) -> dict[str, Any] | None:
    """With the format of the weights, where another file alone tells it."""
    return files.config and with_format(files.config, files.quantised)


def _params(files: ModelFiles) -> ModelShape | None:
    if files.params is None:
        return None
    return read_config(as_config(files.params), files.params_name)


def _completed(
    candidate: Candidate, shape: ModelShape, raw: dict[str, Any], name: str
) -> ModelShape:
    """What the file leaves to a default of the class, the class is asked where training runs."""
    words = class_layers(candidate)
    if len(words) != len(shape.layers):
        return shape
    whole = copy.deepcopy(raw)
    text_part(Fields(whole)).raw["layer_types"] = list(words)
    return read_config(whole, name)


def _notes(
    shape: ModelShape, params: ModelShape | None, weights: Weights
) -> Iterator[tuple[str, str]]:
    """What does not go together, and what a configuration promises that no tensor keeps."""
    if params is not None and _outline(params) != _outline(shape):
        yield "params_differ", "params.json describes other shapes than config.json"
    if shape.mtp_layers and weights.mtp_tensors == 0:
        yield "mtp_absent", "further-token layers are declared and no tensor is theirs"
    if shape.code:
        yield "brings_code", "the checkpoint names code of its own, which is never executed"
    if shape.tied is False and weights.has_head is False:
        yield "head_absent", "an output head of its own is declared and no tensor is its"
    if shape.silent:
        yield "layers_by_class", "which layers have the window is a default of the class"


def _outline(shape: ModelShape) -> tuple[object, ...]:
    head = next((layer.attention for layer in shape.layers if layer.attention), None)
    return (
        shape.hidden,
        len(shape.layers),
        shape.vocabulary,
        (head.heads, head.kv_heads, head.head_dim) if head else None,
    )
