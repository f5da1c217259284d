"""Intervals of shares, against published values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis.proportion import difference, wilson


def test_wilson_agrees_with_the_published_example():
    """Newcombe 1998, Stat. Med. 17:857, table I: 81 of 263 gives 0.2553 to 0.3662."""
    found = wilson(81, 263)
    assert (round(found.low, 4), round(found.high, 4)) == (0.2553, 0.3662)


def test_wilson_of_none_and_of_all_touches_the_end_and_no_further():
    """The same table: 0 of 20 gives 0 to 0.1611."""
    assert wilson(0, 20).low == 0
    assert round(wilson(0, 20).high, 4) == 0.1611
    assert wilson(20, 20).high == 1


def test_a_difference_agrees_with_the_published_example():
    """Newcombe 1998, Stat. Med. 17:873, table II: 56/70 - 48/80 gives 0.0524 to 0.3339."""
    found = difference((56, 70), (48, 80))
    assert (round(found.low, 4), round(found.high, 4)) == (0.0524, 0.3339)


@pytest.mark.parametrize(("hits", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_what_is_no_share_is_refused(hits, n):
    with pytest.raises(ValueError, match="is no share"):
        wilson(hits, n)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_share_lies_inside_and_the_interval_inside_0_to_1(share):
    found = wilson(*share)
    assert 0 <= found.low <= share[0] / share[1] <= found.high <= 1
