"""The ways to form micro-batches beside each other, and the figures of a public data set."""

import json
from pathlib import Path

import numpy as np
import pytest

from pfid.analysis.length_distribution import distribution_of
from pfid.analysis.length_orders import Order, bucket_sizes, compare, order_cost, seeds_for
from pfid.analysis.length_records import records_of
from pfid.analysis.length_sources import sources_of
from pfid.analysis.padding import shuffled

CASE = Path(__file__).resolve().parents[4] / "shared" / "cases" / "padding-waste-real-lengths"


@pytest.mark.field_cases
def test_a_public_data_set_comes_out_with_its_published_figures():
    lengths = np.array(json.loads((CASE / "lengths.json").read_text()))
    rows = [line.split("\t") for line in (CASE / "expected.tsv").read_text().splitlines()[1:]]
    assert len(rows) == 3
    for batch, shuffle, file_order, full_sort in rows:
        records = records_of(lengths)
        costs = {o.order: o for o in compare(records, int(batch), 8, buckets=[int(batch)])}
        assert round(costs[Order.AS_IS].cost.waste, 4) == float(file_order)
        assert round(costs[Order.SORTED].cost.waste, 5) == float(full_sort)
        # their 20 seeds are Python's: the mean of 20 has a standard error of a fifth of the spread
        spread = costs[Order.SHUFFLED].waste_spread
        assert costs[Order.SHUFFLED].seeds == 20
        assert costs[Order.SHUFFLED].cost.waste == pytest.approx(float(shuffle), abs=spread)
    assert round(distribution_of(lengths).ratio, 2) == 1.67


def test_the_orders_of_the_playbooks_table_come_in_its_order():
    records = records_of(
        np.random.default_rng(3).integers(1, 900, 5_001), sources_of("abc" * 1_667)
    )
    found = list(compare(records, 2, 4, buckets=bucket_sizes(5_001, 2, sweep=False)))
    assert [(o.order, o.bucket) for o in found] == [
        (Order.AS_IS, None),
        (Order.SHUFFLED, None),
        (Order.SORTED, 2),
        (Order.BUCKETED, 32),
        (Order.BUCKETED, 512),
    ]
    wastes = [o.cost.waste for o in found[2:]]
    assert wastes == sorted(wastes)
    assert wastes[-1] < found[1].cost.waste
    assert all(o.roots is not None for o in found)
    assert max(o.cost.worst_batches for o in found[2:]) <= found[1].cost.worst_batches


def test_a_batch_of_more_than_there_is_takes_all():
    records = records_of(np.array([5, 9, 1]), sources_of("aba"))
    found = list(compare(records, 10**12, 10**12, buckets=[10**12]))
    assert {o.cost.batches for o in found} == {1}
    assert order_cost(records, 10**12, Order.SORTED).cost.waste == pytest.approx(1 - 15 / 27)


def test_one_order_alone_costs_what_it_costs_beside_others():
    records = records_of(np.random.default_rng(3).integers(1, 900, 501))
    beside = {o.order: o.cost for o in compare(records, 2, 4, buckets=[2])}
    for order in (Order.AS_IS, Order.SHUFFLED, Order.SORTED):
        assert order_cost(records, 2, order).cost == beside[order]


def test_a_sweep_runs_from_one_micro_batch_to_everything():
    assert bucket_sizes(999, 2, sweep=True) == (2, 8, 32, 128, 512)
    assert bucket_sizes(999, 2, sweep=False) == (2, 32, 512)
    assert bucket_sizes(10, 4, sweep=False) == (4,)
    assert bucket_sizes(3, 4, sweep=True) == (3,)


def test_few_records_are_shuffled_often_and_many_seldom():
    assert (seeds_for(999), seeds_for(1_000_000), seeds_for(10**8)) == (20, 5, 3)


def test_shuffles_differ_by_seed_and_the_spread_says_how_much():
    records = records_of(np.random.default_rng(3).integers(1, 900, 500))
    assert not np.array_equal(shuffled(records, 0).words, shuffled(records, 1).words)
    assert order_cost(records, 2, Order.SHUFFLED).waste_spread > 0


def test_a_distribution_is_made_of_lengths_that_are_there():
    found = distribution_of(np.array([5, 1, 9, 9]))
    assert (found.n, found.shortest, found.longest, found.at_longest) == (4, 1, 9, 2)
    assert found.percentiles == {1: 1, 10: 1, 25: 1, 50: 5, 75: 9, 90: 9, 99: 9}
    assert found.mean == 6
    assert found.mean_of_squares == (25 + 1 + 81 + 81) / 4
    assert found.ratio == pytest.approx(47 / 36)
