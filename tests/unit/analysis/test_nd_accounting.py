"""What a step costs by its parameters: by hand, and as the trainer's own accounting has it."""

import pytest

from pfid.analysis.nd_accounting import AttentionCost, Counted, account, counted_of
from pfid.formats.model_config.read import read_config
from pfid.trainer.accounting import Accounting

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 1_000,
    "tie_word_embeddings": False,
}
BODY = 3 * (64 * 64 + 2 * 64 * 32 + 64 * 64 + 3 * 64 * 128)
HEAD = 64 * 1_000
MIXTRAL = {**LLAMA, "model_type": "mixtral", "num_local_experts": 8, "num_experts_per_tok": 2}


def counted(trained=None, **keys):
    return counted_of(read_config({**LLAMA, **keys}), "a model", trained)


def test_a_dense_step_is_six_operations_a_parameter_and_token_lookups_left_out():
    found = account(counted(), 4_096, 512, 0.5)
    assert found.parameters == BODY + HEAD
    assert found.flops == 6 * (BODY + HEAD) * 4_096
    assert found.flops_per_s == found.flops / 0.5
    assert found.name.startswith("6ND of ")


def test_a_frozen_base_is_four():
    found = account(counted(trained=1_000), 100, 512, 1.0)
    assert found.flops == 100 * (4 * (BODY + HEAD - 1_000) + 6 * 1_000)
    assert "4ND of" in found.name


def test_experts_that_a_token_does_not_pass_cost_nothing():
    one = counted_of(read_config(MIXTRAL), "a mixture")
    chosen = 3 * (64 * 64 * 2 + 2 * 64 * 32 + 2 * 3 * 64 * 128 + 8 * 64) + HEAD
    assert one.parameters == pytest.approx(chosen, rel=0.01)
    assert one.all_parameters > 2 * one.parameters
    assert "active" in account(one, 100, None, 1.0).name


def test_attention_is_that_of_the_trainers_accounting_and_stands_apart():
    theirs = Accounting(BODY + HEAD, attention_layers=3, attention_width=64)
    ours = account(counted(), 4_096, 512, 1.0)
    assert ours.attention_flops == 12 * 3 * 64 * 512 * 4_096
    assert ours.flops + ours.attention_flops == theirs.flops(4_096, 512)
    assert "without attention" in ours.name


def test_a_window_bounds_what_a_token_sees():
    mixed = {
        "model_type": "gemma3_text",
        "sliding_window": 128,
        "head_dim": 16,
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
    }
    found = account(counted(**mixed), 10, 512, 1.0)
    assert found.attention_flops == 12 * 64 * 10 * (2 * 128 + 512)
    assert AttentionCost(layers=1, widths=2, window=128).flops(1, 64) == 12 * 64


@pytest.mark.parametrize("width", [None, 512])
def test_without_layers_or_a_width_attention_is_not_known(width):
    plain = Counted(parameters=10, trained=10, all_parameters=10, source="x")
    assert account(plain, 5, width, 1.0).attention_flops is None
    assert account(counted(), 5, None, 1.0).attention_flops is None


def test_shapes_that_are_not_told_are_no_count():
    with pytest.raises(ValueError, match="a model: "):
        counted(vocab_size=0)
