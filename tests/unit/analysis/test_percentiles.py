"""Nearest rank: every figure is an observation."""

import pytest

from pfid.analysis.percentiles import nearest_rank, rank_of


@pytest.mark.parametrize(
    ("n", "percent", "rank"),
    [
        (1, 50, 1),
        (10, 50, 5),
        (11, 50, 6),
        (1000, 99.9, 999),
        (1444, 99, 1430),
        (5, 0, 1),
        (5, 100, 5),
    ],
)
def test_the_rank_is_the_smallest_that_covers_the_share(n: int, percent: float, rank: int) -> None:
    assert rank_of(n, percent) == rank


def test_there_is_no_interpolation() -> None:
    assert nearest_rank([10.0, 400.0], 50) == 10.0


@pytest.mark.parametrize(("n", "percent"), [(0, 50), (3, 101), (3, -1)])
def test_no_observation_and_no_share_have_no_percentile(n: int, percent: float) -> None:
    with pytest.raises(ValueError, match="percent"):
        rank_of(n, percent)
