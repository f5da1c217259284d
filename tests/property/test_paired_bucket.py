"""Pair by length, mix by shuffling: padding survives the mix, neighbourhood does not."""

import random
from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.trainer.paired_bucket import PairedBucketSampler

lengths_lists = st.lists(st.integers(1, 5_000), min_size=1, max_size=200)


def padded(batches, lengths):
    return sum(len(b) * max(lengths[i] for i in b) for b in batches)


@given(lengths=lengths_lists, batch=st.integers(1, 9), seed=st.integers(0, 99))
def test_an_epoch_holds_every_record_once_in_the_announced_number_of_batches(lengths, batch, seed):
    sampler = PairedBucketSampler(lengths, batch, seed=seed)
    batches = list(sampler)
    assert sorted(chain.from_iterable(batches)) == list(range(len(lengths)))
    assert len(batches) == len(sampler)


@given(lengths=lengths_lists, batch=st.integers(1, 9), seed=st.integers(0, 99))
def test_the_mix_costs_no_padding_beyond_a_full_sort(lengths, batch, seed):
    batches = list(PairedBucketSampler(lengths, batch, seed=seed))
    order = sorted(lengths)
    tight = [list(range(i, min(i + batch, len(order)))) for i in range(0, len(order), batch)]
    assert padded(batches, lengths) == padded(tight, order)


@given(
    lengths=lengths_lists,
    batch=st.integers(1, 5),
    world=st.integers(1, 4),
    drop=st.booleans(),
)
def test_every_rank_gets_the_same_number_and_together_they_cover_the_epoch(
    lengths, batch, world, drop
):
    ranks = [
        PairedBucketSampler(lengths, batch, rank=r, world_size=world, drop_last=drop)
        for r in range(world)
    ]
    shares = [list(sampler) for sampler in ranks]
    assert {len(share) for share in shares} == {len(ranks[0])}
    seen = set(chain.from_iterable(chain.from_iterable(shares)))
    if drop:
        assert all(len(b) == batch for share in shares for b in share)
    else:
        assert seen == set(range(len(lengths)))


@given(lengths=lengths_lists, batch=st.integers(1, 5), data=st.data())
def test_a_run_resumed_in_the_middle_of_an_epoch_sees_the_rest_and_only_the_rest(
    lengths, batch, data
):
    whole = list(PairedBucketSampler(lengths, batch, seed=7))
    stop = data.draw(st.integers(0, len(whole) - 1))
    first = PairedBucketSampler(lengths, batch, seed=7)
    walk = iter(first)
    seen = [next(walk) for _ in range(stop)]
    second = PairedBucketSampler(lengths, batch, seed=7)
    second.load_state_dict(first.state_dict())
    assert seen + list(second) == whole
    assert second.epoch == 1


def test_neighbouring_batches_are_no_longer_neighbours_in_length():
    rng = random.Random(1)
    lengths = [rng.randint(1, 4_096) for _ in range(4_000)]
    widths = [max(lengths[i] for i in b) for b in PairedBucketSampler(lengths, 2, seed=3)]
    steps = [abs(a - b) for a, b in pairwise(widths)]
    sorted_steps = [abs(a - b) for a, b in pairwise(sorted(widths))]
    # a third of the range between strangers, next to nothing between sorted neighbours
    assert sum(steps) / len(steps) > 1_000 > 100 * sum(sorted_steps) / len(sorted_steps)


def test_epochs_differ_and_the_same_epoch_is_the_same():
    lengths = list(range(1, 101))
    sampler = PairedBucketSampler(lengths, 4, seed=5)
    first, second = list(sampler), list(sampler)
    assert first != second
    sampler.set_epoch(0)
    assert list(sampler) == first
    assert list(PairedBucketSampler(lengths, 4, seed=6)) != first


def test_the_widest_batch_comes_first_when_asked():
    lengths = [5, 900, 7, 880, 20, 30]
    batches = list(PairedBucketSampler(lengths, 2, longest_first=True, seed=2))
    assert sorted(lengths[i] for i in batches[0]) == [880, 900]


def test_a_state_of_another_sampler_is_refused_by_what_differs():
    state = PairedBucketSampler([1, 2, 3], 2, seed=1).state_dict()
    with pytest.raises(ValueError, match="seed was 1, is 2"):
        PairedBucketSampler([1, 2, 3], 2, seed=2).load_state_dict(state)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [(([], 2), {}), (([1], 0), {}), (([1], 1), {"bucket_size": 0}), (([1], 1), {"rank": 1})],
)
def test_a_sampler_that_could_not_work_is_refused(arguments, options):
    with pytest.raises(ValueError, match=r"needs records|not in a world"):
        PairedBucketSampler(*arguments, **options)
