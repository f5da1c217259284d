"""Whatever stands in a configuration, it is read or refused with a code, and bounds are bounds."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis.attention_paths import paths_of
from pfid.analysis.memory.account import account
from pfid.domain.training_plan import AttentionKind, Method, Plan
from pfid.domain.weights import Weights
from pfid.formats.model_config.fields import ModelConfigError, parsed
from pfid.formats.model_config.read import read_config

CODES = {"", "no_model", "shapes_missing", "layers_contradict", "config_unreadable"}
DENSE = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "sliding_window": 8,
    "tie_word_embeddings": False,
}
MOE = DENSE | {
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "n_shared_experts": 1,
    "first_k_dense_replace": 1,
    "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"],
}
HYBRID = DENSE | {
    "layer_types": ["linear_attention"] * 3 + ["full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
    "per_layer_config": {"03": {"head_dim": 32}},
}
SEEING = {
    "text_config": MOE,
    "vision_config": {"hidden_size": 32, "depth": 3, "num_heads": 2, "mlp_ratio": 4},
    "quantization_config": {"quant_method": "fp8"},
    "projector_hidden_act": "gelu",
}
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 1 << 42),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["full_attention", "mlp", "moe", "mamba", "hybrid", "relu2", "gelu_new"]),
    st.lists(st.one_of(st.none(), st.integers(-1, 9), st.text(max_size=3)), max_size=5),
    st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3),
)


def places(config, before=()):
    for key, value in config.items():
        yield (*before, key)
        if isinstance(value, dict):
            yield from places(value, (*before, key))


@st.composite
def spoilt(draw):
    config = copy.deepcopy(draw(st.sampled_from([DENSE, MOE, HYBRID, SEEING])))
    for place in draw(st.lists(st.sampled_from(sorted(places(config))), min_size=1, max_size=3)):
        part = config
        for key in place[:-1]:
            part = part[key] if isinstance(part.get(key), dict) else {}
        part[place[-1]] = draw(JUNK)
    return config


def looked_at(config):
    """Its shapes, or the code of what is wrong; "" if nothing is."""
    try:
        return read_config(config), ""
    except ModelConfigError as error:
        return None, error.reason


@given(spoilt(), st.sampled_from(list(Method)), st.sampled_from(list(AttentionKind)), st.booleans())
def test_a_spoilt_configuration_is_read_or_refused(config, method, attention, checkpointing):
    shape, reason = looked_at(config)
    assert reason in CODES
    if shape is None:
        return
    paths_of(shape, 4096, 256, 128)
    plan = Plan(gpu_memory_bytes=1, method=method, attention=attention, checkpointing=checkpointing)
    peak = account(shape, Weights(), plan).peak
    sizes = [peak.whole, *(item.size for item in peak.items)] if peak else []
    assert all(0 <= size.low <= size.high for size in sizes)


@given(st.sampled_from([DENSE, SEEING]).map(json.dumps), st.data())
def test_a_file_that_is_cut_off_is_refused_with_its_name(text, data):
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(ModelConfigError, match=r"^config\.json: ") as caught:
        parsed(cut, "config.json")
    assert caught.value.reason == "config_unreadable"
