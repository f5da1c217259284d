"""Does the playbook's design, split and not pooled, give the playbook's figures?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis.proportion import wilson
from pfid.analysis.rates import Count, binomial_sd, exceeds_chance, pooled, spread, wald

AGAIN = (Count(9, 94), Count(12, 95), Count(9, 94))
"""Playbook 4.6.3.1: one seed, three times."""


def test_the_jitter_of_one_seed_is_that_of_the_playbook():
    assert spread([AGAIN]) == pytest.approx(0.0177, abs=0.00005)


def test_the_binomial_expectation_is_that_of_the_playbook_and_nothing_exceeds_it():
    blocks = [Count(0.1178 * 96, 96)] * 8
    assert binomial_sd(blocks) == pytest.approx(0.0329, abs=0.00005)
    assert not exceeds_chance(0.0278, 0.0329, 8)


@pytest.mark.parametrize(("ratio", "beyond"), [(1.41, False), (1.43, True)])
def test_seven_degrees_of_freedom_exceed_chance_where_the_table_says(ratio, beyond):
    # chi-square, 7 degrees, 95 %: 14.067, whose seventh has the root 1.4177
    assert exceeds_chance(ratio, 1.0, 8) is beyond


def test_one_count_exceeds_nothing():
    assert not exceeds_chance(9.0, 1.0, 1)
    assert spread([[Count(1, 2)], [Count(2, 2)]]) is None
    assert spread([]) is None


def test_groups_apart_from_each_other_add_nothing():
    near = [Count(1, 10), Count(2, 10)]
    far = [Count(8, 10), Count(9, 10)]
    assert spread([near, far]) == pytest.approx(spread([near]))
    assert spread([[*near, *far]]) > 5 * spread([near])


def test_walds_interval_is_the_one_that_the_playbook_prints_and_wilsons_another():
    interval = wald(90, 764)
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.0949, 0.1407)
    other = wilson(90, 764)
    assert (round(other.low, 4), round(other.high, 4)) == (0.0968, 0.1426)


@pytest.mark.parametrize(("hits", "n"), [(-1, 4), (5, 4), (0, 0)])
def test_no_share_has_no_interval(hits, n):
    with pytest.raises(ValueError, match="is no share"):
        wald(hits, n)


@given(st.lists(st.builds(Count, st.integers(0, 9), st.integers(9, 40)), min_size=2))
def test_pooling_keeps_the_mean_between_the_least_and_the_most(counts):
    rates = [c.rate for c in counts]
    assert min(rates) - 1e-9 <= pooled(counts).rate <= max(rates) + 1e-9
    assert binomial_sd(counts) >= 0
