"""Of how many steps does a manifest hold times?"""

import pytest

from pfid.policy.timed_steps import timed_steps
from pfid.trainer.step_times import step_time_summary


@pytest.mark.parametrize(
    ("figures", "steps"),
    [
        (None, 0),
        ("fast", 0),
        ({}, 0),
        (step_time_summary([]), 0),
        (step_time_summary([3.0]), 1),
        (step_time_summary([3.0, 1.0, 1.0]), 3),
        ({"n": 0, "first": None, "first_inside": 0.1}, 1),
        ({"n": 0, "first": 1.0, "first_inside": 0.1}, 1),
        ({"n": 0, "first": None, "window": {"steps": 9, "seconds": 0.1}}, 9),
        ({"n": True, "first": True, "window": {"steps": -1}}, 0),
        ({"n": "many", "first": "soon", "window": [1]}, 0),
    ],
)
def test_every_step_with_a_time_counts_once(figures, steps):
    assert timed_steps(figures) == steps
