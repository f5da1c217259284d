"""What is due later is due together with others, and never before its time."""

import pytest

from pfid.daemon.judging import _on_grid

NOW_S = 1000.1


@pytest.mark.parametrize(("wait_s", "late_s"), [(0.5, 0.25), (4.0, 0.5), (30.0, 2.0), (120.0, 8.0)])
def test_it_waits_an_eighth_longer_for_others_and_never_less(wait_s: float, late_s: float):
    for hundredths in range(300):
        now_s = NOW_S + hundredths / 100
        due_s = now_s + wait_s
        assert due_s <= _on_grid(due_s, now_s) < due_s + max(late_s, 0.25)


def test_many_runs_that_can_wait_long_wake_the_loop_a_few_times():
    dues_s = [NOW_S + 30.0 + i / 2 for i in range(64)]
    assert len({_on_grid(due_s, NOW_S) for due_s in dues_s}) <= 14


def test_what_is_due_is_due_now():
    assert _on_grid(NOW_S - 1.0, NOW_S) == NOW_S - 1.0
