"""Pair by length, mix by shuffling: padding survives the mix, neighbourhood does not."""

import random
from array import array
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.trainer.paired_bucket import PairedBucketSampler

ORDER_2 = [[1, 8], [7, 6], [2, 5], [3, 4], [0]]
lengths_lists = st.lists(st.integers(1, 5_000), min_size=1, max_size=200)


def padded(batches, lengths):
    return sum(len(b) * max(lengths[i] for i in b) for b in batches)


@given(lengths=lengths_lists, batch=st.integers(1, 9), seed=st.integers(0, 99))
def test_an_epoch_holds_every_record_once_in_the_announced_number_of_batches(lengths, batch, seed):
    sampler = PairedBucketSampler(lengths, batch, seed=seed)
    batches = list(sampler)
    assert sorted(chain.from_iterable(batches)) == list(range(len(lengths)))
    assert len(batches) == len(sampler)


def cut(order, batch):
    return [order[i : i + batch] for i in range(0, len(order), batch)]


def full_width(batches, lengths):
    return sum(max(lengths[i] for i in b) == max(lengths) for b in batches)


@given(lengths=lengths_lists, batch=st.integers(1, 9), seed=st.integers(0, 99))
def test_padding_is_the_same_before_and_after_the_mix_and_that_of_a_full_sort(lengths, batch, seed):
    batches = list(PairedBucketSampler(lengths, batch, seed=seed))
    rising = sorted(range(len(lengths)), key=lengths.__getitem__)
    unmixed = [cut(order, batch) for order in (rising, rising[::-1])]
    least = min(unmixed, key=lambda b: (full_width(b, lengths), padded(b, lengths)))
    assert padded(batches, lengths) == padded(least, lengths)
    if len(lengths) % batch == 0:
        assert padded(batches, lengths) == padded(unmixed[0], lengths)


@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=60),
    batch=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_no_order_has_fewer_full_width_batches(lengths, batch, seed):
    other = list(range(len(lengths)))
    random.Random(seed).shuffle(other)
    found = full_width(PairedBucketSampler(lengths, batch, seed=seed), lengths)
    assert found <= full_width(cut(other, batch), lengths)
    assert found == -(-lengths.count(max(lengths)) // batch)


@given(lengths=lengths_lists, batch=st.integers(1, 9), bucket=st.integers(1, 64))
def test_only_the_last_batch_is_short(lengths, batch, bucket):
    sampler = PairedBucketSampler(lengths, batch, bucket_size=bucket)
    assert all(len(b) == batch for b in list(sampler)[:-1])


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
    # 2,000 batches: chance correlates within three times 1/sqrt(2,000)
    assert abs(np.corrcoef(widths[:-1], widths[1:])[0, 1]) < 3 / len(widths) ** 0.5
    assert np.corrcoef(sorted(widths)[:-1], sorted(widths)[1:])[0, 1] > 0.99


def test_epochs_differ_and_the_same_epoch_is_the_same():
    lengths = list(range(1, 101))
    sampler = PairedBucketSampler(lengths, 4, seed=5)
    first, second = list(sampler), list(sampler)
    assert first != second
    sampler.set_epoch(0)
    assert list(sampler) == first
    assert list(PairedBucketSampler(lengths, 4, seed=6)) != first


def test_what_is_dropped_is_another_record_each_epoch_and_not_always_the_longest():
    lengths = list(range(1, 12))
    sampler = PairedBucketSampler(lengths, 2, drop_last=True)
    left_out = [set(range(11)) - set(chain.from_iterable(sampler)) for _ in range(60)]
    assert all(len(one) == 1 for one in left_out)
    assert len(set(chain.from_iterable(left_out))) > 5


def test_looking_at_a_first_batch_moves_nothing():
    sampler = PairedBucketSampler(list(range(1, 101)), 4)
    whole = list(PairedBucketSampler(list(range(1, 101)), 4))
    assert next(iter(sampler)) == whole[0]
    assert list(sampler) == whole


def test_an_epoch_that_was_loaded_goes_on_although_its_number_is_set_again():
    lengths = list(range(1, 101))
    whole = list(PairedBucketSampler(lengths, 4))
    sampler = PairedBucketSampler(lengths, 4)
    sampler.load_state_dict({**sampler.state_dict(), "done": 7})
    assert sampler.state_dict()["done"] == 7
    sampler.set_epoch(0)  # as Trainer and Lightning do before each epoch
    assert list(sampler) == whole[7:]
    sampler.load_state_dict({**PairedBucketSampler(lengths, 4).state_dict(), "done": 7})
    sampler.set_epoch(3)
    assert len(list(sampler)) == len(whole)


def test_what_was_fetched_ahead_is_not_what_was_trained_on():
    sampler = PairedBucketSampler(list(range(1, 101)), 4)
    ahead = iter(sampler)
    for _ in range(9):
        next(ahead)
    assert (sampler.state_dict()["done"], sampler.state_dict(done=5)["done"]) == (9, 5)


def test_every_rank_begins_with_a_wide_batch_when_asked():
    lengths = [5, 900, 7, 880, 20, 30, 700, 710, *range(40, 600)]
    ranks = [
        PairedBucketSampler(lengths, 2, longest_first=True, rank=r, world_size=2) for r in (0, 1)
    ]
    first = [sorted(lengths[i] for i in next(iter(rank))) for rank in ranks]
    assert first == [[880, 900], [700, 710]]


def test_lengths_in_an_array_give_the_order_of_the_same_list():
    lengths = [9, 3, 7, 7, 1, 4, 4, 2, 8, 5]
    listed = list(PairedBucketSampler(lengths, 3))
    assert list(PairedBucketSampler(array("i", lengths), 3)) == listed
    assert list(PairedBucketSampler(np.array(lengths), 3)) == listed


def test_the_widest_batch_comes_first_when_asked():
    lengths = [5, 900, 7, 880, 20, 30]
    batches = list(PairedBucketSampler(lengths, 2, longest_first=True, seed=2))
    assert sorted(lengths[i] for i in batches[0]) == [880, 900]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 5))
def test_no_longer_record_follows_the_first_batch_when_asked(lengths, batch):
    batches = list(PairedBucketSampler([*lengths, 51], batch, longest_first=True))
    assert len(lengths) in batches[0]


def test_a_state_of_another_sampler_is_refused_by_what_differs():
    state = PairedBucketSampler([1, 2, 3], 2, seed=1).state_dict()
    with pytest.raises(ValueError, match="seed was 1, is 2"):
        PairedBucketSampler([1, 2, 3], 2, seed=2).load_state_dict(state)


def test_a_state_from_before_the_order_changed_is_refused():
    state = PairedBucketSampler([1, 2, 3], 2).state_dict()
    older = {key: value for key, value in state.items() if key != "order"}
    with pytest.raises(ValueError, match="order was None, is 2"):
        PairedBucketSampler([1, 2, 3], 2).load_state_dict(older)


def test_the_order_of_a_seed_is_that_of_its_number_on_every_machine():
    """Whoever changes this order gives it another number, or resumed runs see records twice."""
    sampler = PairedBucketSampler([3, 1, 2, 2, 2, 2, 2, 2, 1], 2, seed=5)
    assert sampler.state_dict()["order"] == 2
    assert list(sampler) == ORDER_2


def test_a_shuffle_of_many_is_no_repetition_of_a_shuffle_of_few():
    """Its numbers come in blocks; each block is another."""
    (batch,) = PairedBucketSampler([7] * 20_000, 20_000, seed=1)
    assert sorted(batch) == list(range(20_000))
    places = np.argsort(batch)
    blocks = [np.argsort(places[begin : begin + 4_096]) for begin in range(0, 16_384, 4_096)]
    assert not any(np.array_equal(one, other) for one, other in pairwise(blocks))
    assert abs(np.corrcoef(places[:-4_096], places[4_096:])[0, 1]) < 0.03


@pytest.mark.parametrize(
    ("arguments", "options"),
    [(([], 2), {}), (([1], 0), {}), (([1], 1), {"bucket_size": 0}), (([1], 1), {"rank": 1})],
)
def test_a_sampler_that_could_not_work_is_refused(arguments, options):
    with pytest.raises(ValueError, match=r"needs records|not in a world"):
        PairedBucketSampler(*arguments, **options)


@pytest.mark.parametrize("distinct", [3, 200])
def test_records_of_one_length_meet_others_in_every_epoch(distinct):
    """However they are sorted: by counting, where lengths are few, or one by one."""
    lengths = [index * 7 % distinct + 1 for index in range(600)]
    sampler = PairedBucketSampler(lengths, 4, seed=1)
    epochs = [list(sampler) for _ in range(30)]
    assert all(sorted(i for batch in epoch for i in batch) == list(range(600)) for epoch in epochs)
    partners = {i for epoch in epochs for batch in epoch if 0 in batch for i in batch} - {0}
    same = {i for i, length in enumerate(lengths) if length == lengths[0]} - {0}
    assert len(partners & same) > min(len(same), 80) / 3
    first_of_order = [epoch[0] for epoch in epochs]
    assert len({tuple(batch) for batch in first_of_order}) > 20


def test_every_place_is_as_likely_as_any_other():
    """The shuffle is even: over many epochs a record of five comes to each place equally often."""
    places = [0] * 5
    for seed in range(3_000):
        (batch,) = PairedBucketSampler([7] * 5, 5, seed=seed)
        places[batch.index(2)] += 1
    assert all(480 < count < 720 for count in places)
