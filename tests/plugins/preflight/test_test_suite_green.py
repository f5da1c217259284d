"""Did the tests pass, on this commit, in this interpreter?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pfid_plugins.preflight.test_suite_green import Limits, judge, observe

from pfid.spec import Outcome
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.preflight import SuiteFacts, SuiteResult


def said(facts):
    return judge(observe(project_world(suite=facts)), Limits())


def result(**changed):
    return SuiteResult(**{"commit": "c", "passed": 5, **changed})


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "not_configured"),
        (SuiteFacts(commit="c", result=result()), "green"),
        (SuiteFacts(commit="c", result=result(kept=True)), "green_kept"),
        (SuiteFacts(commit="c", result=result(kept=True, failed=1)), "tests_failed"),
        (SuiteFacts(commit="c", result=result(failed=1)), "tests_failed"),
        (SuiteFacts(commit="c", result=result(red=True)), "ended_red"),
        (SuiteFacts(commit="c", result=result(kept=True, red=True)), "ended_red"),
        (SuiteFacts(commit="c", result=result(passed=0)), "no_test_ran"),
        (SuiteFacts(commit="d", result=result()), "result_stale"),
        (SuiteFacts(commit="d", result=result(failed=1)), "result_stale"),
        (SuiteFacts(commit="c", result=result(commit=None)), "result_not_bound"),
        (SuiteFacts(commit=None, result=result(commit=None)), "commit_unknown"),
        (SuiteFacts(commit="c"), "no_result"),
        (SuiteFacts(commit="c", runner=False), "runner_missing"),
        (SuiteFacts(commit="c", result=result(age_s=8 * 86_400.0)), "result_old"),
        (SuiteFacts(problem="python_hung"), "python_hung"),
    ],
)
def test_a_suite_is_judged(facts, reason):
    assert said(facts).reason == reason


@given(passed=st.integers(0, 5), failed=st.integers(0, 5), complete=st.booleans())
def test_only_what_passed_and_nothing_that_failed_is_green(passed, failed, complete):
    facts = SuiteFacts(commit="c", result=result(passed=passed, failed=failed, complete=complete))
    green = said(facts).outcome is Outcome.PASS
    assert green == (passed > 0 and failed == 0 and complete)


def test_a_result_that_was_used_again_shows_its_age():
    verdict = said(SuiteFacts(commit="c", result=result(kept=True, age_s=7_200.0)))
    assert verdict.figures["age"].value == 7_200.0
