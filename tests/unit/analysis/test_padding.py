"""Padding is a property of the pairing, and a bucket is no diversity knob (playbook 3.2)."""

import random
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis.length_records import LengthError, Records, records_of, shuffled_rows
from pfid.analysis.length_sources import sources_of
from pfid.analysis.padding import bucketed, padding_cost, roots_per_window, shuffled, tight

lengths_lists = st.lists(st.integers(1, 999), min_size=1, max_size=60)


def skewed(count=4_000, seed=11):
    return np.random.default_rng(seed).lognormal(6, 1.0, count).astype(np.int64) + 1


def batches(lengths, batch):
    return [lengths[i : i + batch] for i in range(0, len(lengths), batch)]


def worst(lengths, batch):
    return sum(max(part) == max(lengths) for part in batches(lengths, batch))


def test_a_batch_is_padded_to_its_longest_and_a_short_one_to_its_own():
    cost = padding_cost(records_of(np.array([3, 5, 2, 2, 7])), 2)
    assert cost.batches == 3
    assert cost.waste == pytest.approx(1 - 19 / (2 * 5 + 2 * 2 + 7))
    assert cost.zero_pad_share == pytest.approx(2 / 3)
    assert (cost.worst_batches, cost.max_width) == (1, 7)
    assert cost.mean_width == pytest.approx((5 + 2 + 7) / 3)
    assert cost.mean_square_width == pytest.approx((25 + 4 + 49) / 3)


@given(
    lengths=lengths_lists,
    batch=st.integers(1, 40),
    sources=st.none() | st.lists(st.sampled_from("abcde"), min_size=60, max_size=60),
)
def test_the_cost_equals_a_slow_count(lengths, batch, sources):
    parts = batches(lengths, batch)
    padded = sum(max(p) * len(p) for p in parts)
    named = None if sources is None else sources_of(sources[: len(lengths)])
    cost = padding_cost(records_of(np.array(lengths), named), batch)
    assert cost.waste == pytest.approx(1 - sum(lengths) / padded)
    assert cost.zero_pad_share == pytest.approx(sum(min(p) == max(p) for p in parts) / len(parts))
    assert cost.worst_batches == worst(lengths, batch)


@given(
    lengths=lengths_lists,
    row=st.integers(1, 70),
    seed=st.integers(0, 9),
    high=st.integers(0, 62),
)
def test_a_shuffle_keeps_every_record_inside_its_row(lengths, row, seed, high):
    words = np.array(lengths, dtype=np.uint64)
    words[0] |= np.uint64(1 << high)  # with few bits to spare another way is taken
    mixed = shuffled_rows(words, row, np.random.default_rng(seed))
    for part, was in zip(batches(mixed, row), batches(words, row), strict=True):
        assert sorted(part) == sorted(was)


def test_a_shuffle_is_uniform():
    places = np.zeros((6, 6))
    for seed in range(6_000):
        mixed = shuffled_rows(np.arange(6, dtype=np.uint64), 6, np.random.default_rng(seed))
        places[np.arange(6), mixed.astype(int)] += 1
    # 1,000 in each cell; five standard deviations of a binomial
    assert np.abs(places - 1_000).max() < 5 * np.sqrt(6_000 * 5 / 36)


def test_a_last_part_that_is_no_whole_row_is_shuffled_too():
    words = np.arange(6, dtype=np.uint64)
    last = [shuffled_rows(words, 4, np.random.default_rng(s))[4:].tolist() for s in range(200)]
    assert 70 < last.count([4, 5]) < 130


def test_the_sweep_from_a_full_sort_to_a_shuffle_only_ever_adds_padding():
    ordered = tight(records_of(skewed()), 2)
    wastes = [padding_cost(bucketed(ordered, k, 0), 2).waste for k in (2, 8, 32, 128, 512, 4_000)]
    assert wastes == sorted(wastes)
    assert wastes[0] == pytest.approx(padding_cost(ordered, 2).waste)
    plain = padding_cost(shuffled(records_of(skewed()), 0), 2).waste
    assert wastes[-1] == pytest.approx(plain, abs=0.02)


@given(lengths=lengths_lists, batch=st.integers(1, 7), seed=st.integers(0, 99), cap=st.booleans())
def test_the_tight_pairing_has_the_fewest_full_width_batches_of_all_orders(
    lengths, batch, seed, cap
):
    lengths = [min(n, 500) for n in lengths] if cap else lengths
    order = lengths[:]
    random.Random(seed).shuffle(order)
    cost = padding_cost(tight(records_of(np.array(lengths)), batch), batch)
    assert cost.worst_batches <= min(worst(order, batch), worst(lengths, batch))
    assert cost.worst_batches == -(-lengths.count(max(lengths)) // batch)


def test_a_short_batch_holds_the_shortest_where_the_longest_would_fill_one_more():
    assert padding_cost(tight(records_of(np.array([1, 9, 9])), 2), 2).worst_batches == 1
    assert padding_cost(tight(records_of(np.array([1, 1, 9])), 2), 2).waste == 0


@given(lengths=lengths_lists, batch=st.integers(1, 7), seed=st.integers(0, 99))
def test_no_order_pads_less_than_the_tight_pairing_where_batches_are_whole(lengths, batch, seed):
    whole = lengths[: len(lengths) // batch * batch]
    if whole:
        order = whole[:]
        random.Random(seed).shuffle(order)
        least = padding_cost(tight(records_of(np.array(whole)), batch), batch).waste
        assert least <= padding_cost(records_of(np.array(order)), batch).waste + 1e-12


def test_diversity_is_flat_in_bucket_size_once_micro_batches_are_mixed():
    lengths = np.sort(skewed())
    quarters = np.digitize(lengths, np.quantile(lengths, [0.25, 0.5, 0.75]))
    records = records_of(
        lengths, sources_of(str(q) for q in quarters)
    )  # its length tells a record's source
    ordered = tight(records, 2)
    roots = [roots_per_window(bucketed(ordered, k, 1), 2, 8, mix_seed=1) for k in (2, 32, 512)]
    assert max(roots) - min(roots) < 0.15
    assert roots_per_window(ordered, 2, 8) < 1.1 < min(roots)


@given(
    sources=st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=40),
    batch=st.integers(1, 4),
    accumulation=st.integers(1, 4),
)
def test_roots_equal_a_slow_count(sources, batch, accumulation):
    records = records_of(np.ones(len(sources), dtype=np.int64), sources_of(sources))
    parts = batches(sources, batch)
    whole = len(parts) // accumulation * accumulation
    windows = [parts[i : i + accumulation] for i in range(0, whole, accumulation)]
    counts = [len({s for part in window for s in part}) for window in windows]
    found = roots_per_window(records, batch, accumulation)
    assert found == (pytest.approx(sum(counts) / len(counts)) if counts else None)


def test_records_of_one_length_are_not_paired_by_source():
    sources = ["a"] * 500 + ["b"] * 500
    ordered = tight(records_of(np.full(1_000, 7, dtype=np.int64), sources_of(sources)), 2)
    pairs = ordered.words.reshape(-1, 2)
    mixed = np.count_nonzero(pairs[:, 0] != pairs[:, 1]) / 500
    assert 0.4 < mixed < 0.6


def test_without_sources_or_a_whole_window_there_is_no_figure():
    plain = records_of(np.array([1, 2, 3, 4]))
    assert roots_per_window(plain, 2, 1) is None
    assert roots_per_window(records_of(np.array([1, 2]), sources_of("ab")), 1, 3) is None


@pytest.mark.parametrize("length", [0, -1, 1 << 31])
def test_a_length_that_is_none_is_named_by_its_record(length):
    with pytest.raises(LengthError, match=f"record 2: {length} is no number of tokens"):
        records_of(np.array([5, length, 5]))


def test_nothing_to_pad_is_refused():
    with pytest.raises(ValueError, match="no record"):
        records_of(np.array([], dtype=np.int64))
    with pytest.raises(ValueError, match="batch >= 1"):
        padding_cost(records_of(np.array([1])), 0)
    with pytest.raises(ValueError, match="2 lengths and 1 sources"):
        records_of(np.array([1, 2]), sources_of("a"))


def test_truncation_comes_before_everything():
    assert records_of(np.array([5, 900, 70]), longest=64).lengths.tolist() == [5, 64, 64]


def test_many_sources_and_long_records_fit_into_one_word():
    names = [f"s{n}" for n in range(5_000)]
    records = records_of(np.full(5_000, (1 << 31) - 1), sources_of(names))
    assert set(islice(records.lengths.tolist(), 3)) == {(1 << 31) - 1}
    assert isinstance(tight(records, 2), Records)
    assert sorted(tight(records, 2).words) == sorted(records.words)
