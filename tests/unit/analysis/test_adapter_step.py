"""Tokens a second with their spread, and what kind of model they belong to."""

import pytest

from pfid.analysis.adapter_step import Shape, shape_of, throughput_of


def test_the_median_and_both_ends_are_told():
    speed = throughput_of([1.0, 2.0, 4.0], 4_096, [2_048, 2_048, 2_048])
    assert (speed.tokens_per_s, speed.lowest, speed.highest) == (2_048, 1_024, 4_096)
    assert speed.spread == pytest.approx(1.5)
    assert speed.real_tokens_per_s == 1_024
    assert speed.n == 3


def test_one_step_that_does_not_count_its_targets_leaves_them_unknown():
    assert throughput_of([1.0, 1.0], 10, [5, None]).real_tokens_per_s is None


def test_nothing_timed_is_nothing():
    assert throughput_of([], 10, []) is None


@pytest.mark.parametrize(
    ("types", "shape"),
    [
        ({"linear_attention": 18, "full_attention": 6}, Shape.HYBRID),
        ({"hybrid": 24}, Shape.HYBRID),
        ({"conv": 10, "full_attention": 6}, Shape.HYBRID),
        ({"sliding_attention": 25, "full_attention": 5}, Shape.DENSE),
        ({}, Shape.UNKNOWN),
        (None, Shape.UNKNOWN),
    ],
)
def test_a_hybrid_is_told_from_a_dense_model_by_its_layers(types, shape):
    assert shape_of(types) is shape
