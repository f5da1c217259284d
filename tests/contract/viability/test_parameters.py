"""Parameters counted from a configuration against the classes of transformers that it describes.

Every class that is installed is held by tests/bench/model_classes.py; here is a part of each kind.
"""

import contextlib
import json
import warnings

import pytest

from pfid.analysis.memory.parameters import count_parameters
from pfid.formats.model_config.fields import ModelConfigError
from pfid.formats.model_config.read import read_config

pytestmark = [pytest.mark.full, pytest.mark.torch]
LAYERS = 4
OFF_MAX = 0.005
TEXT = """
llama mistral qwen2 qwen2_moe qwen3 qwen3_moe qwen3_next qwen3_5_text qwen3_5_moe_text gemma
gemma2 gemma3_text gemma4_text phi phi3 mixtral deepseek_v2 deepseek_v3 gpt_oss olmo olmo2 olmo3
olmoe olmo_hybrid granite granitemoe granitemoehybrid jamba falcon_h1 cohere cohere2 glm4
glm4_moe ernie4_5 ernie4_5_moe llama4_text mamba mamba2 falcon_mamba gpt2 gpt_neox falcon
starcoder2 smollm3 stablelm exaone4 seed_oss bloom gptj minimax apertus opt mpt bert
roberta nemotron_h lfm2 doge gpt_bigcode
"""
SEEING = "llava qwen2_vl qwen2_5_vl qwen3_vl glm4v internvl mistral3 idefics3 gemma3 lfm2_vl"
UNTOLD = """
afmoe axk2 bitnet deepseek_v4 dory electra hrm_text jetmoe longcat_flash moshi rembert xlnet
xlstm zamba zamba2 kimi_linear recurrent_gemma rwkv bart whisper
"""


def described_and_real(kind, auto, folder):
    """What lies in a folder that the class saved, and what the class has; four layers of text."""
    import torch
    from transformers import CONFIG_MAPPING

    config = CONFIG_MAPPING[kind]()
    text = config.get_text_config()
    text.num_hidden_layers = min(getattr(text, "num_hidden_layers", None) or LAYERS, LAYERS)
    for name in ("layer_types", "mlp_layer_types"):
        if getattr(text, name, None):
            with contextlib.suppress(AttributeError):  # a property follows by itself
                setattr(text, name, getattr(text, name)[: text.num_hidden_layers])
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        model = auto.from_config(config)
    config.save_pretrained(folder)
    raw = json.loads((folder / "config.json").read_text())
    return raw, sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("kind", [*TEXT.split(), *SEEING.split()])
def test_the_count_is_that_of_the_real_class(kind, tmp_path):
    import transformers

    seeing = kind in SEEING.split()
    auto = transformers.AutoModelForImageTextToText if seeing else transformers.AutoModelForCausalLM
    raw, real = described_and_real(kind, auto, tmp_path)
    counted = count_parameters(read_config(raw))
    assert counted.known
    off = max(counted.low - real, real - counted.high, 0) / real
    assert off <= OFF_MAX, (counted.low, real, counted.high)


def judged(raw):
    """Whether sizes are told, and what is said if they are not."""
    try:
        shape = read_config(raw)
    except ModelConfigError as error:
        return False, str(error)
    return count_parameters(shape).known, dict(shape.notes).get("layout_untold")


@pytest.mark.parametrize("kind", UNTOLD.split())
def test_what_no_field_tells_is_not_counted(kind):
    from transformers import CONFIG_MAPPING

    raw = CONFIG_MAPPING[kind]().to_dict()
    known, said = judged(raw)
    assert not known
    assert said
