"""Shapes out of configurations: every way layers are told, and every word that means another."""

import pytest

from pfid.analysis.memory.parameters import count_parameters
from pfid.domain.model import Mixer
from pfid.formats.model_config.fields import ModelConfigError
from pfid.formats.model_config.read import hybrid_mixers, read_config

BASE = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 256,
}
DELTA = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 16,
    "linear_value_head_dim": 16,
}
MAMBA = {"mamba_d_state": 16, "mamba_n_heads": 4, "mamba_d_head": 32, "mamba_n_groups": 1}
F, S, C, D, M, V, H = (
    Mixer.FULL,
    Mixer.SLIDING,
    Mixer.CHUNKED,
    Mixer.DELTA,
    Mixer.MAMBA,
    Mixer.CONV,
    Mixer.HYBRID,
)


def read(**fields):
    return read_config({**BASE, **fields})


def mixers(**fields):
    return [layer.mixer for layer in read(**fields).layers]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [F] * 4),
        ({"layer_types": ["linear_attention"] * 3 + ["full_attention"], **DELTA}, [D, D, D, F]),
        ({"layer_types": ["mamba", "attention"] * 2, **MAMBA}, [M, F, M, F]),
        ({"layers_block_type": ["mamba", "hybrid"] * 2, **MAMBA}, [M, H, M, H]),
        ({"block_types": ["recurrent", "attention"]}, [M, F, M, F]),
        ({"layer_types": ["conv", "full_attention"] * 2, "conv_L_cache": 3}, [V, F, V, F]),
        ({"full_attn_idxs": [1, 3], "conv_L_cache": 3}, [V, F, V, F]),
        ({"full_attention_interval": 2, **DELTA}, [D, F, D, F]),
        ({"attn_layer_period": 2, "attn_layer_offset": 1, **MAMBA}, [M, F, M, F]),
        ({"attn_layer_indices": [2], **MAMBA}, [M, M, F, M]),
        (
            {"linear_attn_config": {"kda_layers": [1, 2, 3], "full_attn_layers": [4]}},
            [D, D, D, F],
        ),
        ({"attn_type_list": [0, 0, 0, 1]}, [D, D, D, F]),
        ({"hybrid_override_pattern": "M*-E", **MAMBA}, [M, F, Mixer.NONE, Mixer.NONE]),
        (MAMBA, [H] * 4),
        ({"sliding_window": 8}, [S] * 4),
        ({"sliding_window": None}, [F] * 4),
        ({"sliding_window": 8, "sliding_window_pattern": 2}, [S, F, S, F]),
        ({"sliding_window": 8, "sliding_window_pattern": "LLLG"}, [S, S, S, F]),
        ({"sliding_window": 8, "use_sliding_window": False}, [F] * 4),
        ({"sliding_window": 8, "use_sliding_window": True, "max_window_layers": 2}, [F, F, S, S]),
        ({"attention_chunk_size": 8, "no_rope_layers": [1, 1, 1, 0]}, [C, C, C, F]),
        ({"hybrid_layer_pattern": [0, 1, 1, 0], "sliding_window": 8}, [F, S, S, F]),
    ],
)
def test_layers_are_found_wherever_they_are_told(fields, expected):
    assert mixers(**fields) == expected


def test_the_text_part_counts_and_not_what_stands_around_it():
    vision = {"hidden_size": 32, "num_hidden_layers": 3, "num_heads": 2, "intermediate_size": 64}
    shape = read_config({"text_config": {**BASE, "vocab_size": 99}, "vision_config": vision})
    assert (shape.vocabulary, len(shape.layers), shape.towers[0].key) == (99, 4, "vision_config")


@pytest.mark.parametrize("fields", [{"cache_implementation": "hybrid"}, {"hybrid_cache": True}])
def test_a_word_makes_no_hybrid(fields):
    shape = read(**fields)
    assert not hybrid_mixers(shape)
    assert dict(shape.notes).keys() == {"hybrid_is_a_word"}


def test_a_pattern_of_windows_says_what_it_means():
    shape = read(hybrid_layer_pattern=[0, 1, 1, 0], sliding_window=8, swa_head_dim=24)
    assert [layer.attention.window for layer in shape.layers] == [None, 8, 8, None]
    assert [layer.attention.head_dim for layer in shape.layers] == [16, 24, 24, 16]
    assert "hybrid_means_window" in dict(shape.notes)


def test_a_state_space_model_alone_has_no_heads():
    fields = {"hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 256, "state_size": 16}
    assert [layer.mixer for layer in read_config(fields).layers] == [M, M]


@pytest.mark.parametrize(
    ("fields", "experts"),
    [
        ({"num_local_experts": 8}, [8] * 4),
        ({"n_routed_experts": 8, "first_k_dense_replace": 1}, [0, 8, 8, 8]),
        ({"n_routed_experts": 8, "moe_layer_freq": [0, 1, 0, 1]}, [0, 8, 0, 8]),
        ({"num_experts": 8, "decoder_sparse_step": 2}, [0, 8, 0, 8]),
        ({"num_experts": 8, "mlp_only_layers": [0]}, [0, 8, 8, 8]),
        ({"num_experts": 8, "expert_layer_period": 2, "expert_layer_offset": 1}, [0, 8, 0, 8]),
        ({"num_experts": 8, "mlp_layer_types": ["dense", "sparse"] * 2}, [0, 8, 0, 8]),
        ({"num_local_experts": 8, "interleave_moe_layer_step": 2}, [0, 8, 0, 8]),
        ({"num_experts": 8, "num_dense_layers": 2}, [0, 0, 8, 8]),
        ({"num_experts": None}, [0] * 4),
    ],
)
def test_which_layers_have_experts(fields, experts):
    assert [layer.feed.experts for layer in read(**fields).layers] == experts


def test_shared_experts_and_a_dense_part_beside_experts_are_counted():
    beside = read(num_experts=8, moe_intermediate_size=32, enable_moe_block=True).layers[0].feed
    assert (beside.dense, beside.expert, beside.shared) == (128, 32, 0)
    shared = read(n_routed_experts=8, moe_intermediate_size=32, n_shared_experts=2).layers[0].feed
    assert (shared.dense, shared.shared) == (0, 64)


@pytest.mark.parametrize(
    ("quantisation", "named"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "FP8"),
        ({"quant_method": "mxfp4"}, "MXFP4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "NVFP4"),
        ({"quant_method": "gptq", "bits": 4}, "GPTQ"),
        ({"quant_method": "awq", "bits": 4}, "AWQ"),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "bitsandbytes 4-bit"),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"g": {"weights": {"num_bits": 4, "type": "int"}}},
            },
            "compressed-tensors INT4",
        ),
        ({"quant_method": "tomorrow"}, "tomorrow"),
        ({}, ""),
    ],
)
def test_a_quantised_format_is_named(quantisation, named):
    assert read(quantization_config=quantisation).quantised == named


@pytest.mark.parametrize(
    ("quantisation", "bits"),
    [
        ({"quant_method": "fp8"}, 8),
        ({"quant_method": "gptq", "bits": 3}, 3),
        ({"quant_method": "bitsandbytes", "_load_in_4bit": True}, 4),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"g": {"weights": {"num_bits": 8, "type": "float"}}},
            },
            8,
        ),
        ({"quant_method": "tomorrow"}, 0),
        ({}, 0),
    ],
)
def test_the_width_of_a_packed_weight_is_told(quantisation, bits):
    assert read(quantization_config=quantisation).quantised_bits == bits


def test_latent_attention_is_what_the_kernel_sees():
    shape = read(
        q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=12, qk_rope_head_dim=4, v_head_dim=8
    )
    attention = shape.layers[0].attention
    assert (attention.head_dim, attention.value_dim, attention.kv_heads) == (16, 8, 4)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"hidden_size": None}, "no_model"),
        ({"num_hidden_layers": True}, "no_model"),
        ({"num_attention_heads": -4}, "shapes_missing"),
        ({"layer_types": ["full_attention"] * 3}, "layers_contradict"),
        ({"hybrid_override_pattern": "M" * 5}, "layers_contradict"),
    ],
)
def test_a_contradiction_is_an_error_with_a_code(fields, reason):
    with pytest.raises(ModelConfigError) as caught:
        read(**fields)
    assert caught.value.reason == reason


def test_an_untold_tie_leaves_the_range_open():
    told, untold = (count_parameters(read(**f)) for f in ({"tie_word_embeddings": True}, {}))
    assert untold.high - untold.low >= 256 * 64
    assert told.high - told.low < 256 * 64


def test_a_pattern_without_windows_beside_it_is_not_guessed():
    shape = read(hybrid_layer_pattern=[0, 1, 1, 0])
    assert [layer.mixer for layer in shape.layers] == [F, Mixer.UNKNOWN, Mixer.UNKNOWN, F]
    assert "hybrid_untold" in dict(shape.notes)


def test_fields_of_a_single_layer_count_for_it_alone():
    shape = read(head_dim=16, per_layer_config={"01": {"head_dim": 32}})
    assert [layer.attention.head_dim for layer in shape.layers] == [16, 32, 16, 16]


def test_a_feed_forward_that_is_a_layer_of_its_own_is_counted_once():
    words = ["mamba", "moe", "full_attention", "mlp"]
    shape = read(layer_types=words, num_experts=8, moe_intermediate_size=32, **MAMBA)
    assert [layer.feed.experts for layer in shape.layers] == [0, 8, 0, 0]
    assert [layer.feed.dense for layer in shape.layers] == [0, 0, 0, 128]


@pytest.mark.parametrize(
    "fields",
    [
        {"hc_mult": 4},
        {"is_encoder_decoder": True},
        {"embedding_size": 32},
        {"model_type": "jetmoe"},
        {"moe_intermediate_size": [64, 32], "num_experts": 8},
        {"vision_config": {"model_type": "conv", "depths": [2, 2]}},
        {"intermediate_size": None},
        {"encoder": {"hidden_size": 64}},
    ],
)
def test_what_no_field_tells_leaves_sizes_unknown(fields):
    shape = read(**fields)
    assert not count_parameters(shape).known
    assert dict(shape.notes)["layout_untold"]


def test_positions_that_may_be_learned_open_the_range_and_rotated_ones_do_not():
    learned = read(max_position_embeddings=100, layer_norm_eps=1e-5)
    rotated = read(max_position_embeddings=100, layer_norm_eps=1e-5, rope_theta=10_000.0)
    assert (learned.learned, rotated.learned) == (102 * 64, 0)
    wide = count_parameters(learned).high - count_parameters(rotated).high
    assert wide >= 100 * 64


def test_a_tower_within_a_tower_is_counted_once():
    inner = {"hidden_size": 16, "num_hidden_layers": 2}
    tower = {"hidden_size": 32, "num_hidden_layers": 3, "image_encoder": inner}
    shape = read_config({**BASE, "vision_config": tower})
    assert [tower.key for tower in shape.towers] == ["vision_config"]


SMALL = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 256,
    "intermediate_size": 128, "model_type": "llama", "hidden_act": "silu",
}  # fmt: skip


def layer_of(**fields):
    return read_config({**SMALL, **fields}).layers[-1]


@pytest.mark.parametrize(
    ("fields", "held"),
    [
        ({}, True),
        ({"model_type": "nobody"}, False),
        ({"model_type": ""}, False),
        ({"hidden_act": "laplace"}, False),
        ({"hidden_act": "relu"}, False),
        ({"hidden_act": "gelu"}, True),
        ({"hidden_act": None}, True),
        ({"model_type": "opt", "hidden_act": "relu"}, True),
        ({"model_type": "opt", "hidden_act": "silu"}, False),
        ({"model_type": "phi", "hidden_act": "gelu_new"}, True),
        ({"model_type": "phi", "hidden_act": "gelu"}, False),
        ({"model_type": "gemma4_text"}, True),
    ],
)
def test_a_type_is_held_by_its_name_and_with_an_activation_it_was_held_with(fields, held):
    assert read_config({**SMALL, **fields}).held is held


def test_a_part_without_a_type_is_of_the_type_of_the_whole():
    text = {k: v for k, v in SMALL.items() if k != "model_type"}
    for kind, held in (("gemma4", True), ("nobody", False)):
        assert read_config({"model_type": kind, "text_config": text}).held is held


def test_classes_that_keep_their_scores_are_known():
    assert not layer_of().attention.eager
    assert layer_of(model_type="bloom").attention.eager
    windowed = {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 8}
    mimo = layer_of(model_type="mimo_v2_flash", **windowed).attention
    assert (mimo.eager, mimo.rounded, mimo.sinks) == (True, True, True)


def test_classes_without_scaled_dot_product_attention_are_known_though_nothing_is_capped():
    for kind in ("gemma2", "vaultgemma", "gpt_oss", "gpt_neo"):
        assert layer_of(model_type=kind, attn_logit_softcapping=None).attention.unfused, kind
    assert not layer_of(model_type="gemma3_text").attention.unfused
    text = {k: v for k, v in SMALL.items() if k != "model_type"}
    inner = read_config({"model_type": "gemma2", "text_config": text}).layers[0].attention
    assert inner.unfused
    assert layer_of(model_type="gpt_oss").attention.sinks


def test_a_class_from_before_gates_has_two_matrices_though_no_activation_is_told():
    bloom = {"model_type": "bloom", "hidden_act": "", "n_layer": 2, "n_head": 4}
    old = {**SMALL, **bloom, "apply_residual_connection_post_layernorm": False}
    assert not read_config(old).layers[0].feed.gated


@pytest.mark.parametrize("act", ["silu", "gelu", "relu", "relu2", "gelu_new", "xielu"])
def test_a_gate_is_of_the_class_whatever_its_activation(act):
    for kind in ("llama", "mistral", "gemma2", "qwen3_moe"):
        assert layer_of(model_type=kind, hidden_act=act).feed.gated, kind
    for kind in ("nemotron", "arcee", "starcoder2", "phi", "gpt_neox"):
        assert not layer_of(model_type=kind, hidden_act=act).feed.gated, kind


def test_of_a_type_that_nobody_knows_the_activation_speaks_of_the_gate():
    assert layer_of(model_type="nobody").feed.gated
    assert not layer_of(model_type="nobody", hidden_act="relu2").feed.gated


def test_an_activation_that_is_not_told_is_that_of_the_class():
    assert layer_of(model_type="phi", hidden_act=None).feed.written_out == 3
    assert layer_of(model_type="bloom", hidden_act="gelu_new").feed.written_out == 0


def test_experts_that_all_compute_and_one_that_no_field_tells_are_known():
    experts = {"num_local_experts": 4, "num_experts": 4, "num_experts_per_tok": 1}
    assert layer_of(model_type="llama4_text", **experts).feed.every
    assert not layer_of(model_type="mixtral", **experts).feed.every
    assert layer_of(model_type="hunyuan_v1_moe", **experts).feed.shared == 128
    assert layer_of(model_type="mixtral", **experts).feed.shared == 0


def test_what_is_dropped_and_what_an_activation_keeps_are_known():
    assert read_config({**SMALL, "resid_pdrop": 0.1}).dropped
    assert not read_config({**SMALL, "resid_pdrop": 0.0}).dropped
    assert layer_of(attention_dropout=0.1).attention.dropped
    plain = layer_of(hidden_act="relu").feed
    assert (plain.keeps_result, plain.gated) == (True, True)
    assert not layer_of(hidden_act="relu2").feed.keeps_result


def test_a_list_of_a_type_whose_blocks_stand_alone_gives_a_mixer_no_feed_forward():
    words = {"layers_block_type": ["linear_attention", "full_attention"], "ssm_state_size": 16}
    layer = layer_of(model_type="nemotron_h", mamba_num_heads=4, mamba_head_dim=16, **words)
    assert layer.feed.dense == 0


@pytest.mark.parametrize("value", [-8, 2.5, "8", [4, -1]])
@pytest.mark.parametrize("name", ["num_key_value_heads", "intermediate_size", "num_local_experts"])
def test_a_size_that_is_none_is_refused_by_name_and_not_left_out(name, value):
    with pytest.raises(ModelConfigError, match=name) as refused:
        read(**{name: value})
    assert refused.value.reason == "shapes_missing"


def test_a_size_that_is_null_or_told_by_layer_is_read():
    assert read(num_key_value_heads=None, n_inner=None).layers[0].attention.kv_heads == 4
    assert read(num_key_value_heads=[2, 1, 2, 2]).layers[1].attention.kv_heads == 1
