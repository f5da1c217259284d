"""Names of adapters' tensors, as the methods of PEFT save them."""

import pytest

from pfid.formats.adapter_tensors import adapted

AT = "base_model.model.model.layers.0.self_attn.q_proj"


@pytest.mark.parametrize(
    ("names", "factors"),
    [
        ((f"{AT}.lora_A.weight", f"{AT}.lora_B.weight"), 2),
        ((f"{AT}.lora_A.default.weight", f"{AT}.lora_B.default.weight"), 2),
        ((f"{AT}.lora_embedding_A", f"{AT}.lora_embedding_B"), 2),
        ((f"{AT}.hada_w1_a", f"{AT}.hada_w1_b", f"{AT}.hada_w2_a", f"{AT}.hada_w2_b"), 4),
        ((f"{AT}.lokr_w1", f"{AT}.lokr_w2_a", f"{AT}.lokr_w2_b"), 3),
        ((f"{AT}.lora_A.weight", f"{AT}.lora_B.weight", f"{AT}.lora_magnitude_vector"), 0),
        ((f"{AT}.ia3_l",), 0),
    ],
)
def test_every_part_belongs_to_one_module(names, factors):
    (one,) = adapted(names)
    assert one.module == "model.layers.0.self_attn.q_proj"
    assert not one.whole
    assert len(one.factors) == factors


def test_modules_that_are_saved_whole_are_tensors_of_their_own():
    names = (
        "base_model.model.lm_head.modules_to_save.default.weight",
        "base_model.model.model.norm.weight",
    )
    assert [(a.module, a.whole) for a in adapted(names)] == [
        ("lm_head.weight", True),
        ("model.norm.weight", True),
    ]


def test_two_parameters_of_one_module_are_two():
    at = "base_model.model.model.layers.0.mlp.experts"
    names = [f"{at}.{inner}lora_{x}.weight" for inner in ("", "base_layer.") for x in "AB"]
    assert len(adapted(names)) == 2
