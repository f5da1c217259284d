"""What an adapter's configuration says of its scaling."""

import pytest

from pfid.formats.adapter_scale import adapter_scale

LORA = {"peft_type": "LORA", "r": 4, "lora_alpha": 8}


@pytest.mark.parametrize(
    ("more", "rank", "factor"),
    [
        ({}, 4, 2),
        ({"use_rslora": True}, 4, 4),
        ({"use_rslora": True}, 16, 2),
        ({"alpha_pattern": {"q_proj": 2}}, 4, 0.5),
        ({"alpha_pattern": {"layers.0.*q_proj": 2}}, 4, 0.5),
        ({"alpha_pattern": {"proj": 2}}, 4, 2),
        ({"alpha_pattern": {"q_proj": "2", "": 5}}, 4, 2),
        ({"alpha_pattern": ["q_proj"]}, 4, 2),
    ],
)
def test_alpha_over_rank_or_its_root_and_a_pattern_of_a_path_before_all(more, rank, factor):
    assert adapter_scale(LORA | more).of("model.layers.0.self_attn.q_proj", rank) == factor


def test_a_rank_of_nothing_has_no_factor():
    assert adapter_scale(LORA).of("q_proj", 0) is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (LORA, True),
        (LORA | {"init_lora_weights": "gaussian"}, True),
        (LORA | {"init_lora_weights": None}, True),
        (LORA | {"init_lora_weights": "pissa"}, False),
        (LORA | {"init_lora_weights": "olora"}, False),
        (LORA | {"peft_type": "ADALORA"}, False),
        (LORA | {"lora_alpha": True}, False),
        (LORA | {"lora_alpha": float("nan")}, False),
        (LORA | {"arrow_config": {"top_k": 3}}, False),
        ({}, False),
    ],
)
def test_what_another_arithmetic_makes_is_untold(said, told):
    assert (adapter_scale(said).untold == "") is told


def test_stacked_experts_are_counted_by_the_rank_of_each():
    scale = adapter_scale(LORA | {"rank_pattern": {"experts": 2}})
    assert scale.experts_of("model.layers.0.mlp.experts", 16) == 8
    assert scale.experts_of("model.layers.0.self_attn.q_proj", 4) == 1
    assert scale.experts_of("model.layers.0.self_attn.q_proj", 5) == 1


def test_rows_that_were_trained_alone_are_found_by_the_embeddings_name():
    named = adapter_scale(LORA | {"trainable_token_indices": {"embed_tokens": [3, 5], "x": 4}})
    assert named.tokens_of("model.embed_tokens") == (3, 5)
    assert named.tokens_of("lm_head") == ()
    assert adapter_scale(LORA | {"trainable_token_indices": [7]}).tokens_of("any") == (7,)
