"""Padding is a property of the pairing, and a bucket is no diversity knob (playbook 3.2)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis.padding import (
    bucketed,
    full_sort,
    mixed,
    padding_cost,
    roots_per_window,
    shuffled,
)


def skewed(count=4_000, seed=11):
    return np.random.default_rng(seed).lognormal(6, 1.0, count).astype(np.int64) + 1


def test_a_batch_is_padded_to_its_longest_and_a_short_one_to_its_own():
    cost = padding_cost(np.array([3, 5, 2, 2, 7]), 2)
    assert cost.batches == 3
    assert cost.waste == pytest.approx(1 - 19 / (2 * 5 + 2 * 2 + 7))
    assert cost.zero_pad_share == pytest.approx(2 / 3)
    assert cost.worst_batches == 1
    assert cost.mean_width == pytest.approx((5 + 2 + 7) / 3)
    assert cost.mean_square_width == pytest.approx((25 + 4 + 49) / 3)


@given(
    lengths=st.lists(st.integers(1, 999), min_size=1, max_size=60),
    batch=st.integers(1, 7),
)
def test_the_cost_equals_a_slow_count(lengths, batch):
    parts = [lengths[i : i + batch] for i in range(0, len(lengths), batch)]
    padded = sum(max(p) * len(p) for p in parts)
    cost = padding_cost(np.array(lengths), batch)
    assert cost.waste == pytest.approx(1 - sum(lengths) / padded)
    assert cost.zero_pad_share == pytest.approx(sum(min(p) == max(p) for p in parts) / len(parts))


def test_the_sweep_from_a_full_sort_to_a_shuffle_only_ever_adds_padding():
    lengths = skewed()
    wastes = [
        padding_cost(lengths[bucketed(lengths, k, 0)], 2).waste for k in (2, 8, 32, 128, 512, 4_000)
    ]
    assert wastes == sorted(wastes)
    assert wastes[0] == padding_cost(lengths[full_sort(lengths)], 2).waste
    plain = padding_cost(lengths[shuffled(len(lengths), 0)], 2).waste
    assert wastes[-1] == pytest.approx(plain, abs=0.02)


def test_pairing_long_with_long_never_adds_worst_batches():
    lengths = np.minimum(skewed(), 2_000)  # a cap, as a maximum sequence length is
    worst = [
        padding_cost(lengths[bucketed(lengths, k, s)], 2).worst_batches
        for s in range(5)
        for k in (2, 32, 4_000)
    ]
    assert max(worst[0::3]) <= min(worst[2::3])


def test_diversity_is_flat_in_bucket_size_once_micro_batches_are_mixed():
    lengths = np.sort(skewed())
    sources = np.digitize(lengths, np.quantile(lengths, [0.25, 0.5, 0.75]))  # length tells source
    roots = [
        roots_per_window(mixed(bucketed(lengths, k, 1), 2, 1), sources.tolist(), 8)
        for k in (2, 32, 512)
    ]
    unmixed = [full_sort(lengths)[i : i + 2] for i in range(0, len(lengths), 2)]
    assert max(roots) - min(roots) < 0.15
    assert roots_per_window(unmixed, sources.tolist(), 8) < 1.1 < min(roots)


def test_mixing_keeps_every_pair():
    order = full_sort(skewed(101))
    pairs = {tuple(order[i : i + 2]) for i in range(0, 101, 2)}
    assert {tuple(b) for b in mixed(order, 2, 4)} == pairs


def test_no_whole_window_is_no_figure():
    assert roots_per_window([np.array([0, 1])], ["a", "b"], 2) is None


@pytest.mark.parametrize(("lengths", "batch"), [([], 2), ([1], 0)])
def test_nothing_to_pad_is_refused(lengths, batch):
    with pytest.raises(ValueError, match="need records"):
        padding_cost(np.array(lengths, dtype=np.int64), batch)
