"""Parameters counted from a configuration against the classes of transformers that it describes."""

import contextlib
import warnings

import pytest

from pfid.analysis.memory.parameters import count_parameters
from pfid.formats.model_config.read import read_config

pytestmark = [pytest.mark.full, pytest.mark.torch]
LAYERS = 4
OFF_MAX = 0.02
FAMILIES = """
llama mistral qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next qwen3_5_text qwen3_5_moe_text gemma
gemma2 gemma3_text gemma4_text phi phi3 mixtral deepseek_v2 deepseek_v3 gpt_oss olmo olmo2 olmo3
olmoe olmo_hybrid granite granitemoe granitemoehybrid jamba falcon_h1 cohere cohere2 glm4
glm4_moe ernie4_5 ernie4_5_moe llama4_text mamba mamba2 falcon_mamba gpt2 gpt_neox falcon
starcoder2 smollm3 stablelm exaone4 seed_oss bloom gptj minimax
"""


def described_and_real(kind):
    import torch
    from transformers import CONFIG_MAPPING, AutoModelForCausalLM

    config = CONFIG_MAPPING[kind]()
    config.num_hidden_layers = min(getattr(config, "num_hidden_layers", None) or LAYERS, LAYERS)
    if getattr(config, "layer_types", None):
        with contextlib.suppress(AttributeError):  # a property follows by itself
            config.layer_types = config.layer_types[: config.num_hidden_layers]
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        model = AutoModelForCausalLM.from_config(config)
    return config.to_dict(), sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("kind", FAMILIES.split())
def test_the_count_is_that_of_the_real_class(kind):
    raw, real = described_and_real(kind)
    counted = count_parameters(read_config(raw))
    assert counted.known
    off = max(counted.low - real, real - counted.high, 0) / real
    assert off <= OFF_MAX, (counted.low, real, counted.high)
