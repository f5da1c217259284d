"""Is the loss a number?"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pfid_plugins.watch.loss_not_finite import Limits, judge, observe

from pfid.domain.log_facts import LogFacts, LossSeen
from pfid.domain.outcome import Outcome
from pfid.domain.step import StepClock, StepEvent
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog, FixedSteps
from pfid.spec.world import World

LIMITS = Limits()
GOOD = [2.5, 2.4, 2.45, 2.3, 2.2, 2.25]
NAN, INF = math.nan, math.inf


def said(in_log, in_file=()):
    told = None
    if in_log is not None:
        told = LogFacts(losses=tuple(LossSeen(index=None, value=v) for v in in_log))
    events = tuple(
        StepEvent(index=i, seconds=None, clock=StepClock.REPORTED, loss=v)
        for i, v in enumerate(in_file)
    )
    world = World(
        subject=CONTROL_SUBJECT, log=FixedLog(log_facts=told), steps=FixedSteps(events=events)
    )
    return judge(observe(world), LIMITS)


@pytest.mark.parametrize(
    ("losses", "reason"),
    [
        (GOOD, "finite"),
        ([*GOOD, NAN], "finite"),
        ([*GOOD, NAN, 2.2], "finite"),
        ([*GOOD, NAN, NAN], "finite"),
        ([*GOOD, NAN, NAN, NAN], "not_finite"),
        ([*GOOD, NAN, 2.2, NAN, 2.2, NAN], "not_finite"),
        ([*GOOD, INF, -INF, NAN], "not_finite"),
        ([*GOOD, 0.0, 0.0, 0.0], "zero"),
        ([*GOOD, -0.0, 0.0, 0.0], "zero"),
        ([*GOOD, 0.0, 0.0, NAN], "zero"),
        ([*GOOD, 0.0, NAN, NAN], "not_finite"),
        ([*GOOD, 0.0], "finite"),
        ([NAN] * 60 + GOOD, "finite"),
        ([NAN] * 3, "not_finite"),
        ([1e-300] * 9, "finite"),
        ([-3.0] * 9, "finite"),
        ([], "no_loss_logged"),
        (None, "no_loss_logged"),
    ],
    ids=str,
)
def test_losses_are_judged(losses, reason):
    assert said(losses).reason == reason


def test_a_step_file_speaks_where_the_log_does_not():
    assert said(None, [*GOOD, NAN, NAN, NAN]).reason == "not_finite"
    assert said([], GOOD).reason == "finite"


def test_a_log_that_filters_its_losses_does_not_hide_those_of_the_step_file():
    assert said(GOOD, [NAN] * 9).reason == "not_finite"
    assert said([NAN] * 9, GOOD).reason == "not_finite"


def test_a_rank_that_has_no_loss_of_its_own_does_not_speak_for_the_log():
    assert said(GOOD, [0.0] * 9).reason == "finite"
    assert said(None, [0.0] * 9).reason == "zero"


def test_no_loss_is_never_a_pass():
    assert said(None).outcome is Outcome.UNKNOWN
    assert said([], [None] * 20).outcome is Outcome.UNKNOWN


def test_it_counts_each_kind():
    figures = said([*GOOD, NAN, NAN, 0.0, INF]).figures
    assert (figures["not_finite"].value, figures["zero"].value) == (3, 1)


losses = st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=64)


@given(losses=losses, at=st.integers(0, 63), bad=st.sampled_from([NAN, INF, -INF, 0.0]))
def test_a_worse_loss_never_hides_a_failure(losses, at, bad):
    worse = list(losses)
    worse[at % len(losses)] = bad
    if said(losses).outcome is Outcome.FAIL:
        assert said(worse).outcome is Outcome.FAIL
