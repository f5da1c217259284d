"""What is said of norms by the type of a class, against the class itself on the meta device."""

import warnings

import pytest

from pfid.analysis.memory.norms_kept import TRAINED
from pfid.formats.model_config.fields import Fields
from pfid.formats.model_config.norms import BY_TYPE, JOINED, norms_of
from pfid.formats.model_config.read import read_config
from pfid.formats.tensor_names import is_joined, layer_norms, text_prefix

pytestmark = [pytest.mark.full, pytest.mark.torch]
TWO = {"num_hidden_layers": 2, "n_layer": 2}
NO_CLASS = {"mistral3"}
"""Types of whole models whose text part is of another type."""
WEIGHTLESS = {"llama4"}
"""Types whose norms of queries and keys have no weight, and so no name: a flag tells of them."""
SMALL = {"vocab_size": 512, "pad_token_id": 0}
HYBRID = {"layer_types": ["linear_attention", "full_attention"]}
OWN = {
    "hunyuan_v1_dense": {"head_dim": 128},
    "ministral": {"head_dim": 128},
    "nemotron": {"num_key_value_heads": 8, "head_dim": 128},
    "hunyuan_v1_moe": {"num_key_value_heads": 8, "head_dim": 128},
    "dots1": {"n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1},
    "qwen3_5": HYBRID,
    "qwen3_5_moe": HYBRID,
    "qwen3_next": HYBRID,
    "gpt_neo": {"num_layers": 2, "attention_types": [[["global", "local"], 1]]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "nemotron_h": {"hybrid_override_pattern": "M*"},
    "bamba": {"attn_layer_indices": [1]},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"]},
    "gemma4": {"layer_types": ["sliding_attention", "full_attention"]},
}


def made(kind):
    """The class with two layers, without memory."""
    import torch
    import transformers
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CLASSES

    name = kind if f"{kind}_text" not in CLASSES else f"{kind}_text"
    fields = {**TWO, **SMALL, **OWN.get(kind, {})}
    config = CONFIG_MAPPING[name](**fields)
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        whole = getattr(transformers, CLASSES[name])._from_config(config, dtype=torch.bfloat16)
    return config, whole


def saved_by(norm, width):
    """Bytes an element that a norm saves, weights aside."""
    import torch

    sizes = {}

    def saved(tensor):
        storage = tensor.untyped_storage()
        sizes[storage._cdata] = (storage.nbytes(), tensor)
        return tensor

    x = torch.empty(2, 8, width, dtype=torch.bfloat16, device="meta", requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(saved, lambda tensor: tensor):
        norm(x)
    for own in norm.parameters():
        sizes.pop(own.untyped_storage()._cdata, None)
    wide = [size for size, tensor in sizes.values() if tensor.numel() >= x.numel()]
    return sum(wide) / x.numel()


def first_norm(whole, prefix):
    names = [
        name
        for name, module in whole.named_modules()
        if name.startswith(f"{prefix}.0.") and "Norm" in type(module).__name__
    ]
    wide = [n for n in names if n.count(".") == prefix.count(".") + 2]
    return whole.get_submodule(wide[0])


@pytest.mark.parametrize("kind", sorted(set(BY_TYPE) - NO_CLASS))
def test_a_type_has_the_norms_that_are_said_of_it(kind):
    config, whole = made(kind)
    names = list(whole.state_dict())
    prefix = text_prefix(names)
    real, said = layer_norms(names, prefix), norms_of(Fields(config.to_dict()))
    if BY_TYPE[kind].each is not None:
        assert (said.each, said.behind) == (real.wide, real.behind)
    if said.heads is not None and kind not in WEIGHTLESS:
        assert said.heads == real.heads
    shape = read_config(config.to_dict())
    assert saved_by(first_norm(whole, prefix), shape.hidden) == TRAINED[said.kind]
    if kind in JOINED:
        assert is_joined(names, prefix)
    assert is_joined(names, prefix) <= shape.joined
