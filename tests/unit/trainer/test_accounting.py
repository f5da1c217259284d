"""Conventions of counting FLOPs, told apart and named."""

import pytest

from pfid.trainer import Accounting


def test_a_trained_parameter_is_six_a_token_and_a_frozen_one_four():
    assert Accounting(1e9).flops(10) == 6e10
    assert Accounting(1e9, frozen=1e9).flops(10) == 4e10
    assert Accounting(1e9, frozen=5e8).flops(10) == 5e10


def test_only_active_parameters_of_a_mixture_count_and_the_name_says_so():
    accounting = Accounting(26e9, active=4e9)
    assert accounting.flops(1) == 24e9
    assert accounting.name == "6ND of 4e+09 trained, active parameters, without attention"
    assert "dense" in Accounting(4e9).name


def test_what_checkpointing_computes_again_stands_apart():
    plain, again = Accounting(1e9), Accounting(1e9, checkpointed=True)
    assert plain.flops(10) == again.flops(10)
    assert (plain.recomputed(10), again.recomputed(10)) == (0, 2e10)


def test_the_forward_pass_that_is_computed_again_holds_its_attention():
    known = {"attention_layers": 10, "attention_width": 1000}
    again = Accounting(1e9, checkpointed=True, **known)
    assert again.recomputed(2, width=100) == 2 * (2e9 + 4 * 10 * 1000 * 100)
    assert again.recomputed(2, width=100) == again.flops(2, width=100) / 3
    assert again.recomputed(2) == 4e9
    assert Accounting(1e9, **known).recomputed(2, width=100) == 0


def test_attention_grows_with_the_width_where_it_is_counted():
    accounting = Accounting(1e9, attention_layers=10, attention_width=1000)
    assert accounting.flops(2, width=100) == 2 * (6e9 + 12 * 10 * 1000 * 100)
    assert accounting.flops(2) == 12e9
    assert accounting.name.endswith("with attention")


@pytest.mark.parametrize(
    "given",
    [
        {"parameters": 0},
        {"parameters": 1, "active": 2},
        {"parameters": 2, "active": 1, "frozen": 1.5},
        {"parameters": 1, "frozen": -1},
        {"parameters": 1, "peak_flops_per_s": 0},
        {"parameters": float("nan")},
    ],
)
def test_figures_that_cannot_be_are_refused(given):
    with pytest.raises(ValueError, match=r"parameters|peak"):
        Accounting(**given)
