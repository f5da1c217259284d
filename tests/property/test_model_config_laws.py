"""Whatever stands in a configuration or header: an answer or an error of ours, and sane bounds."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from pfid.analysis.memory.account import account
from pfid.domain.training_plan import Loss, Method, Plan
from pfid.domain.weights import Weights
from pfid.formats.model_config.fields import ModelConfigError
from pfid.formats.model_config.params import as_config
from pfid.formats.model_config.read import read_config
from pfid.formats.safetensors import SafetensorsError, read_header, read_index

NAMES = """hidden_size num_hidden_layers num_attention_heads num_key_value_heads head_dim vocab_size
intermediate_size layer_types layers_block_type hybrid_override_pattern hybrid_layer_pattern
sliding_window sliding_window_pattern attention_chunk_size full_attention_interval num_experts
moe_layer_freq mlp_only_layers first_k_dense_replace num_experts_per_tok moe_intermediate_size
kv_lora_rank qk_nope_head_dim qk_rope_head_dim mamba_d_state mamba_n_heads mamba_d_head
linear_attn_config linear_num_value_heads linear_key_head_dim text_config vision_config
quantization_config tie_word_embeddings use_sliding_window dtype architectures auto_map moe
block_types attn_type_list no_rope_layers num_kv_shared_layers dim n_layers n_heads""".split()  # noqa: SIM905 - a list of fifty lines reads worse
BASE = {
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "vocab_size": 256,
    "intermediate_size": 128,
}
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 1 << 45),
    st.floats(),
    st.sampled_from(["full_attention", "mamba", "hybrid", "M*-E", "sparse", "bfloat16", ""]),
    st.text(max_size=4),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=12,
)
CONFIGS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=10)
PLANS = st.builds(
    Plan,
    gpu_memory_bytes=st.integers(1, 1 << 40),
    method=st.sampled_from(Method),
    loss=st.sampled_from(Loss),
    checkpointing=st.booleans(),
    float32=st.sampled_from([None, True, False]),
)


@settings(max_examples=40)
@given(CONFIGS, PLANS)
def test_any_configuration_is_read_or_refused_in_our_own_words(fields, plan):
    for raw in (fields, BASE | fields, as_config(fields)):
        try:
            shape = read_config(raw)
        except ModelConfigError:
            continue
        found = account(shape, Weights(), plan)
        assert 0 <= found.counted.low <= found.counted.high
        for peak in (found.peak, found.whole):
            assert peak is None or 0 <= peak.whole.low <= peak.whole.high
            assert peak is None or all(0 <= i.size.low <= i.size.high for i in peak.items)


@settings(max_examples=40)
@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4), st.integers(0, 1000))
def test_any_header_is_read_or_refused_in_our_own_words(raw, size):
    described = {"a": {"dtype": "F16", "shape": [2], "data_offsets": [0, 4]}}
    for header in (raw, {"a": raw}, {"a": described["a"] | {"data_offsets": list(raw.values())}}):
        try:
            tensors = read_header(json.dumps(header).encode(), size)
        except SafetensorsError:
            continue
        assert sum(t.size_bytes for t in tensors) == size


@given(VALUES)
def test_any_index_is_read_or_refused_in_our_own_words(mapped):
    try:
        index = read_index({"weight_map": mapped, "metadata": mapped})
    except SafetensorsError:
        return
    assert index.shards
