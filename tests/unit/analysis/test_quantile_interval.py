"""A quartile lies between observations, and where they were cut off nobody knows how far up."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis.quantile_interval import quantile_interval

HUNDRED = list(range(1, 101))


def test_the_median_of_a_hundred_lies_between_the_40th_and_the_61st():
    """The textbook's interval of the median: ranks n/2 -+ 1.96 sqrt(n)/2."""
    found = quantile_interval(HUNDRED, HUNDRED, 50)
    assert (found.low, found.seen, found.at_most, found.high) == (40, 50, 50, 61)


def test_few_observations_say_nothing_of_the_ends():
    found = quantile_interval([5, 6, 7], [5, 6, 7], 25)
    assert (found.low, found.seen) == (0, 5)
    assert quantile_interval([5, 6, 7], [5, 6, 7], 75).high == inf


def test_what_was_cut_off_is_a_lower_bound():
    whole = [*range(1, 61), *(inf,) * 40]
    found = quantile_interval(HUNDRED, whole, 75)
    assert found.seen == 75
    assert found.at_most == found.high == inf


def test_nothing_observed_is_refused():
    with pytest.raises(ValueError, match="no observations"):
        quantile_interval([], [], 50)


@given(st.lists(st.integers(0, 99), min_size=1).map(sorted), st.integers(1, 99))
def test_what_is_seen_lies_inside(lengths, percent):
    found = quantile_interval(lengths, lengths, percent)
    assert found.low <= found.seen <= found.high
