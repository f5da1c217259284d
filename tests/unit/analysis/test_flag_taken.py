import pytest

from pfid.analysis.flag_taken import ATTENTION, EXPERTS, flag_taken, unbound
from pfid.analysis.kernel_launches import Attention, Experts, Launches
from pfid.domain.outcome import Outcome

TOOK, NOT, BLIND = Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN


def launched(attention=Attention.NONE, experts=Experts.NONE, **families):
    return Launches(steps=1, families=families, operators={}, experts=experts, attention=attention)


@pytest.mark.parametrize(
    ("requested", "went", "families", "outcome"),
    [
        ("flex_attention", Attention.FLEX, {}, TOOK),
        ("flex_attention", Attention.UNFUSED, {}, NOT),
        ("flex_attention", Attention.FUSED, {}, NOT),
        ("flex_attention", Attention.NONE, {}, BLIND),
        ("sdpa", Attention.FUSED, {}, TOOK),
        ("sdpa", Attention.UNFUSED, {}, BLIND),
        ("sdpa", Attention.FLEX, {}, NOT),
        ("eager", Attention.UNFUSED, {}, TOOK),
        ("eager", Attention.FUSED, {}, NOT),
        ("flash_attention_2", Attention.FUSED, {"flash": 2}, TOOK),
        ("flash_attention_3", Attention.FUSED, {"flash_3": 2}, TOOK),
        ("flash_attention_2", Attention.FUSED, {"mem_efficient": 2}, NOT),
        ("flash_attention_2", Attention.UNFUSED, {}, NOT),
        ("kernels-community/x", Attention.FUSED, {}, BLIND),
        ("kernels-community/x", Attention.FLEX, {}, NOT),
    ],
)
def test_attention_is_known_by_what_was_launched(requested, went, families, outcome):
    assert flag_taken(ATTENTION, requested, launched(went, **families)).outcome is outcome


@pytest.mark.parametrize(
    ("requested", "ran", "outcome"),
    [
        ("grouped_mm", Experts.GROUPED, TOOK),
        ("grouped_mm", Experts.FALLBACK, NOT),
        ("grouped_mm", Experts.ORDINARY, NOT),
        ("grouped_mm", Experts.NONE, BLIND),
        ("eager", Experts.GROUPED, NOT),
        ("eager", Experts.ORDINARY, BLIND),
        ("sonicmoe", Experts.ORDINARY, BLIND),
    ],
)
def test_experts_are_known_by_what_was_launched(requested, ran, outcome):
    assert flag_taken(EXPERTS, requested, launched(experts=ran)).outcome is outcome


@pytest.mark.parametrize("field", [ATTENTION, EXPERTS])
def test_a_run_launched_without_the_flag_says_nothing_about_it(field):
    found = flag_taken(field, None, launched(Attention.FLEX, Experts.GROUPED))
    assert (found.outcome, found.reason) == (BLIND, "launched_without")
    assert "nothing about the flag" in found.text


def test_a_trace_that_is_not_the_runs_says_nothing():
    found = unbound(ATTENTION, "sdpa", "another time")
    assert (found.outcome, found.reason, found.requested) == (BLIND, "cannot_tell", "sdpa")
