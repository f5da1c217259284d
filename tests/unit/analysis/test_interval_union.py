"""What intervals cover is counted once."""

import tracemalloc

import numpy as np
import pytest

from pfid.analysis.interval_union import IntervalUnion, overlap


def union(*intervals):
    whole = IntervalUnion()
    for start, end in intervals:
        whole.add(np.array([start]), np.array([end]))
    return whole


@pytest.mark.parametrize(
    ("intervals", "length"),
    [
        ([], 0),
        ([(0, 10)], 10),
        ([(0, 10), (10, 20)], 20),
        ([(0, 10), (5, 20)], 20),
        ([(0, 100), (10, 20), (30, 40)], 100),
        ([(30, 40), (0, 10)], 20),
        ([(5, 5)], 0),
    ],
)
def test_covered_time_is_counted_once(intervals, length):
    assert union(*intervals).length == length


def test_a_window_sees_only_what_lies_in_it():
    whole = union((0, 10), (20, 30))
    assert whole.length_within(5, 25) == 10
    assert whole.length_within(10, 20) == 0
    assert whole.length_within(-5, 100) == 20


def test_overlap_is_what_both_cover():
    assert overlap(union((0, 10), (20, 30)), union((5, 25))) == 10
    assert overlap(union((0, 10)), union((10, 20))) == 0


def test_gaps_are_what_is_left_of_a_window():
    whole = union((0, 10), (20, 30), (30, 35), (50, 60))
    gaps = [gap for block in whole.gaps_within(5, 70) for gap in block.tolist()]
    assert gaps == [10, 15, 10]
    assert [g for block in union().gaps_within(3, 9) for g in block.tolist()] == [6]


def test_memory_of_neighbours_in_order_is_eight_bytes_each():
    count, step = 1_000_000, 10_000
    starts = np.arange(count, dtype=np.int64) * step
    whole = IntervalUnion()
    tracemalloc.start()
    try:
        for at in range(0, count, 100_000):
            whole.add(starts[at : at + 100_000], starts[at : at + 100_000] + 5_000)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert whole.length == count * 5_000
    assert held < 8.5 * count
    assert peak < held + 80 * 120_000  # what is added, and the last chunk


def test_rows_in_no_order_touch_every_chunk():
    starts = np.arange(200_000, dtype=np.int64) * 10
    mixed = np.random.default_rng(5).permutation(starts)
    whole = IntervalUnion()
    for block in np.split(mixed, 10):
        whole.add(block, block + 10)
    assert whole.length == 2_000_000
    assert len(list(whole.blocks())) == 1
