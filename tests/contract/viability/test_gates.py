"""Gates and activations as pfid says them of a type, against the installed classes."""

import warnings

import pytest
from test_norms import OWN, SMALL, TWO

from pfid.analysis.memory.parameters import count_parameters
from pfid.formats.model_config.feed_forward import OWN_ACTIVATION, activation_of
from pfid.formats.model_config.fields import Fields
from pfid.formats.model_config.held import ALIKE, HELD
from pfid.formats.model_config.read import read_config

pytestmark = [pytest.mark.full, pytest.mark.torch]
FIELDS = ("mlp_hidden_act", "hidden_act", "activation_function", "hidden_activation")
OFF_MAX = 0.005
HERE = {
    "gemma4": {"vocab_size_per_layer_input": SMALL["vocab_size"]},
    "bloom": {"hidden_size": 512},  # by default so small that norms are a share of it
}


def config_of(kind, act=None):
    """Two layers; with another activation where the class has a field for it."""
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as CLASSES

    made = CONFIG_MAPPING[f"{kind}_text" if f"{kind}_text" in CLASSES else kind]
    fields = {**TWO, **SMALL, **OWN.get(kind, {}), **HERE.get(kind, {})}
    plain = made(**fields)
    acts = [name for name in FIELDS if getattr(plain, name, None)] if act else []
    return made(**fields, **dict.fromkeys(acts, act)) if acts else plain


def parameters_of(config):
    import torch
    from transformers import AutoModelForCausalLM

    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        return sum(p.numel() for p in AutoModelForCausalLM.from_config(config).parameters())


@pytest.mark.parametrize("act", ["silu", "relu"])
@pytest.mark.parametrize("kind", sorted(HELD))
def test_a_class_has_the_matrices_that_are_counted_whatever_its_activation(kind, act):
    config = config_of(kind, act)
    real, counted = parameters_of(config), count_parameters(read_config(config.to_dict()))
    off = max(counted.low - real, real - counted.high, 0) / real
    assert off <= OFF_MAX, (counted.low, real, counted.high)


@pytest.mark.parametrize("kind", sorted(HELD))
def test_a_class_that_no_field_tells_its_activation_has_the_one_that_is_said_of_it(kind):
    own = OWN_ACTIVATION.get(kind, "silu")
    assert activation_of(Fields(config_of(kind).to_dict())) in (
        {own} | ({""} if not own else set())
    )


@pytest.mark.parametrize("act", sorted(ALIKE))
def test_activations_that_are_alike_keep_their_input_and_nothing_else(act):
    import torch
    from transformers.activations import ACT2FN

    saved = []
    x = torch.randn(4, 8, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        ACT2FN[act](x)
    assert [t.data_ptr() for t in saved] == [x.data_ptr()]
