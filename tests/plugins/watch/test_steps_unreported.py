"""Is what was asked for with --instrument what one gets?"""

import pytest
from pfid_plugins.watch.steps_unreported import Limits, Seen, judge

from pfid.domain.inside import Inside
from pfid.domain.outcome import Outcome

LIMITS = Limits()


def said(inside, steps=LIMITS.steps, *, readable=True):
    return judge(Seen(readable=readable, inside=inside, steps=steps), LIMITS)


def test_silence_is_a_fault_only_once_steps_are_seen_elsewhere():
    asked = Inside(asked=True)
    assert said(asked, LIMITS.steps - 1).reason == "no_step_yet"
    assert said(asked, LIMITS.steps).reason == "nobody_attached"


def test_an_interpreter_that_sees_is_told_from_one_that_does_not():
    assert said(Inside(asked=True, attached=1)).reason == "no_step_reported"


def test_every_failure_names_the_call_that_helps():
    for inside in (
        Inside(asked=True),
        Inside(asked=True, attached=1),
        Inside(asked=True, given_up=True),
    ):
        verdict = said(inside)
        assert verdict.outcome is Outcome.FAIL
        assert "StepReporter().report()" in verdict.summary


def test_hooks_that_left_are_a_fault_though_steps_were_reported_before():
    assert said(Inside(asked=True, reported=1_000, given_up=True), 2_000).reason == "gave_up"


@pytest.mark.parametrize("inside", [None, Inside(), Inside(reported=7, explicit=True)])
def test_a_run_that_was_not_asked_to_is_left_in_peace(inside):
    assert said(inside).outcome is Outcome.NOT_APPLICABLE


def test_lost_lines_are_counted_beside():
    verdict = said(Inside(asked=True, reported=5, lost=2), 7)
    assert (verdict.reason, verdict.figures["lost"].value) == ("reported", 2)


def test_what_cannot_be_read_is_not_known():
    assert said(None, 0, readable=False).outcome is Outcome.UNKNOWN
