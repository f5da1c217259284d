"""Is every figure of the summary a step that happened, and the first one beside?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.trainer.step_times import step_time_summary


def test_the_first_step_is_out_by_position_and_not_the_slowest():
    summary = step_time_summary([30.0, 20.0, 21.0, 45.0, 19.0])
    assert summary == {
        "n": 4,
        "first": 30.0,
        "min": 19.0,
        "p50": 20.0,
        "p90": 45.0,
        "p99": 45.0,
        "max": 45.0,
        "unit": "seconds_per_optimizer_step",
    }


def test_what_there_is_none_of_is_present_and_null():
    assert set(step_time_summary([])) == set(step_time_summary([1.0, 2.0]))
    assert step_time_summary([])["first"] is None
    assert step_time_summary([7.0])["n"] == 0
    assert step_time_summary([7.0])["max"] is None


def test_a_thousand_steps_have_their_nearest_ranks():
    summary = step_time_summary([0.0, *map(float, range(1, 1001))])
    assert (summary["p50"], summary["p90"], summary["p99"]) == (500.0, 900.0, 990.0)


@given(st.lists(st.floats(0, 1e6), min_size=2))
def test_every_figure_happened(durations):
    summary = step_time_summary(durations)
    figures = [summary[name] for name in ("min", "p50", "p90", "p99", "max")]
    assert set(figures) <= set(durations[1:])
    assert figures == sorted(figures)


@pytest.mark.parametrize("bad", [-1.0, float("nan"), float("inf")])
def test_what_is_no_duration_is_refused(bad):
    with pytest.raises(ValueError, match="step times"):
        step_time_summary([1.0, bad])
