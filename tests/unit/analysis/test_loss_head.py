"""The loss head's share: the playbook's figures, and the caveat that goes with them."""

import pytest

from pfid.analysis.loss_head import LossTiming, caveat, loss_head_of


def test_the_playbooks_forward_alone_is_half_the_story():
    head = loss_head_of([LossTiming(step_s=35.3, forward_s=0.374)])
    assert f"{head.forward_share:.1%}" == "1.1%"
    assert f"{head.whole_share:.0%}" == "3%"
    assert not head.measured_whole
    assert "at three times the forward, about 3.2% in all" in caveat(head)


def test_what_was_measured_takes_the_place_of_the_factor():
    timing = LossTiming(step_s=10.0, forward_s=1.0, recompute_s=0.9, gradient_s=1.6)
    head = loss_head_of([timing])
    assert head.whole_share == pytest.approx(0.35)
    assert head.checkpointed
    assert "measured there, the loss is 35.0% in all" in caveat(head)


def test_a_recompute_longer_than_the_factor_is_not_left_out():
    head = loss_head_of([LossTiming(step_s=10.0, forward_s=1.0, recompute_s=3.0)])
    assert head.whole_share == pytest.approx(0.4)


def test_one_repetition_without_gradients_leaves_them_unknown():
    known = LossTiming(step_s=1.0, forward_s=0.1, gradient_s=0.1)
    assert loss_head_of([known, LossTiming(step_s=1.0, forward_s=0.1)]).gradient_s is None


def test_medians_are_taken_and_counted():
    head = loss_head_of([LossTiming(step_s=s, forward_s=0.1) for s in (1.0, 9.0, 2.0)])
    assert (head.step_s, head.n) == (2.0, 3)


def test_nothing_timed_is_nothing():
    assert loss_head_of([]) is None


@pytest.mark.parametrize(
    "parts",
    [
        {"forward_s": 0.1, "gradient_s": 0.95},
        {"forward_s": 0.6, "recompute_s": 0.5},
        {"forward_s": 0.1, "gradient_s": -0.01},
    ],
)
def test_parts_are_never_more_than_their_whole(parts):
    with pytest.raises(ValueError, match="s of a step of 1 s"):
        LossTiming(step_s=1.0, **parts)
