"""Linear modules beside the text, against transformers' own classes on the meta device."""

import warnings

import pytest

from pfid.formats.model_config.fields import Fields
from pfid.formats.model_config.towers import towers_of
from pfid.formats.safetensors import Tensor
from pfid.formats.tensor_names import tower_modules

pytestmark = [pytest.mark.full, pytest.mark.torch]
REAL = {
    "qwen3_5": 110,
    "qwen2_5_vl": 162,
    "qwen3_vl": 116,
    "gemma3": 75,
    "llava": 146,
    "mistral3": 171,
    "llama4": 208,
    "internvl": 146,
    "mllama": 241,
    "idefics3": 73,
}
"""Linear modules that are none of the text's, by types of whole models as their defaults are."""


def made(kind):
    """The class with two layers of text, without memory."""
    import torch
    import transformers

    config = transformers.AutoConfig.for_model(kind)
    text = config.get_text_config()
    text.num_hidden_layers = 2
    if getattr(text, "layer_types", None):
        text.layer_types = text.layer_types[:2]
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        return config, transformers.AutoModelForImageTextToText.from_config(config)


def is_text(name):
    return "language_model" in name or "text_model" in name or name.endswith("lm_head")


@pytest.mark.parametrize("kind", sorted(REAL))
def test_modules_beside_the_text_are_counted_by_tensors_and_bounded_by_shapes(kind):
    import torch

    config, whole = made(kind)
    linears = {n for n, module in whole.named_modules() if isinstance(module, torch.nn.Linear)}
    beside = {name for name in linears if not is_text(name)}
    assert len(beside) == REAL[kind]
    towers = list(towers_of(Fields(config.to_dict())))
    low, high = sum(t.linears for t in towers), sum(t.linears_most for t in towers)
    assert low <= REAL[kind] <= high
    tensors = [
        Tensor(name, "BF16", tuple(held.shape), held.numel() * 2, 0)
        for name, held in whole.state_dict().items()
    ]
    assert tower_modules([t.name for t in tensors], tensors).total() == REAL[kind]
