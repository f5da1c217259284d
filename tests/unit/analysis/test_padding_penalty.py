"""The penalty of padding: the playbook's figures, and what is not to be read out of noise."""

import pytest

from pfid.analysis.padding_penalty import TimedShape, penalty_of


def timed(*seconds, targets=None):
    return [TimedShape(seconds=s, targets=targets) for s in seconds]


def test_the_playbooks_step_is_slower_for_less_work():
    penalty = penalty_of(timed(35.244, targets=26_048), timed(38.567, targets=19_640))
    assert f"{penalty.slower:.1%}" == "9.4%"
    assert f"{penalty.less_work:.1%}" == "24.6%"
    assert penalty.per_target == pytest.approx(1.4513, abs=1e-4)
    assert penalty.seen


def test_the_fastest_of_each_counts():
    penalty = penalty_of(timed(2.0, 1.0), timed(3.0, 1.5))
    assert penalty.slower == pytest.approx(0.5)


def test_what_lies_within_the_spread_of_repetitions_is_not_seen():
    assert not penalty_of(timed(1.0, 1.3), timed(1.2, 1.2)).seen
    assert penalty_of(timed(1.0, 1.1), timed(1.2, 1.2)).seen
    assert penalty_of(timed(1.0, 1.1), timed(0.8, 0.8)).seen


@pytest.mark.parametrize(("full", "padded"), [(None, 5), (5, None), (0, 0)])
def test_without_counted_targets_nothing_is_said_of_work(full, padded):
    penalty = penalty_of(timed(1.0, targets=full), timed(1.0, targets=padded))
    assert penalty.less_work is None
    assert penalty.per_target is None


@pytest.mark.parametrize(("full", "padded"), [((), (1.0,)), ((1.0,), ()), ((), ())])
def test_without_both_there_is_no_penalty(full, padded):
    assert penalty_of(timed(*full), timed(*padded)) is None
