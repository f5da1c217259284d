"""What intervals cover is counted once."""

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
