"""What is judged over other records than were declared counts for nothing."""

import pytest

from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Verdict
from pfid.policy.held_back import COUNTS_THEM, held_back
from pfid.spec.fakes_results import arm, record
from pfid.spec.reasons import RECORDS_INCOMPLETE

TEN = [record(i) for i in range(10)]
WHOLE = arm(TEN)
SHORT = arm(TEN[:9], declared=10)
MORE = arm(TEN, declared=9)
UNSAID = arm(TEN, declared=None)
UNSAID_AND_BAD = arm(TEN, declared=None, bad_total=1)
NOTHING = arm([], declared=None)


def verdict(outcome):
    return Verdict(outcome=outcome, reason=ReasonCode("seen"), summary="said", evidence=("line",))


@pytest.mark.parametrize("doubted", [SHORT, MORE, UNSAID_AND_BAD, NOTHING])
@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.FAIL])
def test_a_verdict_over_them_is_unknown_and_says_what_it_would_have_been(doubted, outcome):
    held = held_back("collapse", verdict(outcome), (doubted, None))
    assert held.outcome is Outcome.UNKNOWN
    assert held.reason == RECORDS_INCOMPLETE
    assert held.evidence == (f"over these records alone: {outcome.value}, seen: said", "line")


def test_the_baseline_counts_as_much():
    held = held_back("collapse", verdict(Outcome.PASS), (WHOLE, SHORT))
    assert held.outcome is Outcome.UNKNOWN
    assert "9 of 10" in held.summary


@pytest.mark.parametrize("arms", [(WHOLE, None), (WHOLE, WHOLE), (UNSAID, None)])
def test_whole_arms_leave_a_verdict_as_it_is(arms):
    said = verdict(Outcome.PASS)
    assert held_back("collapse", said, arms) is said


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.NOT_APPLICABLE])
def test_what_says_nothing_is_left_alone(outcome):
    said = verdict(outcome)
    assert held_back("collapse", said, (SHORT, None)) is said


def test_the_check_that_counts_them_speaks_for_itself():
    said = verdict(Outcome.FAIL)
    assert held_back(COUNTS_THEM, said, (MORE, None)) is said
