"""One mode or two."""

import pytest

from pfid.analysis.modes import at_share, split, weighted_median

RULE = {"ratio": 5.0, "lower_share": 0.05}


def each(values):
    return [(v, 1) for v in values]


@pytest.mark.parametrize(
    ("values", "median"),
    [
        ([(3.0, 1)], 3.0),
        ([(1.0, 1), (2.0, 1)], 1.0),
        ([(1.0, 1), (2.0, 1), (3.0, 1)], 2.0),
        ([(1.0, 3), (9.0, 4)], 9.0),
        ([(1.0, 4), (9.0, 4)], 1.0),
    ],
)
def test_the_median_is_a_value_that_happened(values, median):
    assert weighted_median(values) == median


def test_nothing_has_no_median():
    with pytest.raises(ValueError, match="nothing"):
        weighted_median([])


def test_a_share_is_by_weight():
    assert at_share([(1.0, 9), (2.0, 1)], 0.9) == 1.0
    assert at_share([(1.0, 9), (2.0, 1)], 0.91) == 2.0


def test_two_modes_are_told_apart():
    modes = split(each([10.0, 11.0, 9.0, 200.0, 10.0] * 20), **RULE)
    assert modes.share == pytest.approx(0.2)
    assert modes.ratio == pytest.approx(20.0)
    assert modes.episodes == 20
    assert modes.apart


@pytest.mark.parametrize(
    "values",
    [[], [10.0] * 50, [10.0, 30.0] * 30, [0.0] * 10],
    ids=["none", "one mode", "too near", "no time"],
)
def test_where_nothing_reaches_the_upper_mode_there_is_none(values):
    assert split(each(values), **RULE) is None


def test_a_long_tail_has_no_valley():
    tail = [1.05**k for k in range(80)]
    assert not split(each(tail), **RULE).apart


def test_a_step_up_is_one_episode():
    assert split(each([10.0] * 50 + [200.0] * 50), **RULE).episodes == 1


def test_the_lower_mode_may_be_the_small_one():
    modes = split(each([10.0] + [200.0] * 9) * 10, **RULE)
    assert modes.share == pytest.approx(0.9)


def test_a_few_odd_small_values_are_no_mode():
    assert split(each([0.1] + [10.0] * 99), **RULE) is None
