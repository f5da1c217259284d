"""The authored series have exactly the published figures."""

import itertools
import math

import pytest

from pfid.spec.playbook_series import run_1, run_1_summary, run_2, run_2_summary


def slow_nearest_rank(values, percent):
    """The definition, counted out: the smallest value that ``percent`` of all do not exceed."""
    ordered = sorted(values)
    return next(
        v
        for v in ordered
        if sum(x <= v for x in ordered) >= math.ceil(len(ordered) * percent / 100)
    )


def test_run_1_has_the_figures_of_the_playbook():
    first, rest = run_1()[0], run_1()[1:]
    assert (len(run_1()), first, len(rest)) == (1_445, 45.79, 1_444)
    assert min(rest) == 11.84
    assert slow_nearest_rank(rest, 50) == 19.75
    assert slow_nearest_rank(rest, 99) == 30.52
    assert max(run_1()) == first


def test_run_2_has_the_figures_of_the_playbook_and_a_late_maximum():
    assert len(run_2()) == 1_312
    assert min(run_2()) == 11.84
    assert slow_nearest_rank(run_2(), 50) == 19.48
    assert slow_nearest_rank(run_2(), 99) == 28.96
    assert max(run_2()) == 45.79
    assert run_2().index(45.79) > 1_000


@pytest.mark.parametrize(
    ("summary", "steps"), [(run_1_summary(), run_1()[1:]), (run_2_summary(), run_2())]
)
def test_the_summaries_are_those_of_the_series(summary, steps):
    assert (summary.n, summary.min_s, summary.max_s) == (len(steps), min(steps), max(steps))
    for percent, value in ((50, summary.p50_s), (90, summary.p90_s), (99, summary.p99_s)):
        assert slow_nearest_rank(steps, percent) == value


def test_the_order_is_no_order():
    steps = run_1()[1:]
    rising = sum(b > a for a, b in itertools.pairwise(steps))
    assert 0.4 < rising / len(steps) < 0.6
