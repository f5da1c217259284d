"""Are pfid's eyes on the GPUs open?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pfid_plugins.watch.gpu_telemetry_stale import Limits, judge, observe

from pfid.domain.outcome import Outcome
from pfid.domain.verdict import BOX
from pfid.spec.fakes_gpus import gpu_state, gpus
from pfid.spec.ports.gpus import GpuCount, SamplerFacts, SamplerProblem
from pfid.spec.world import World

LIMITS = Limits()
QUIET = {SamplerProblem.NONE, SamplerProblem.STARTING, SamplerProblem.OTHER}


def said(how, states=None, **more):
    shown = (gpu_state(),) if states is None else states
    world = World(subject=BOX, gpus=gpus(*shown, how=how, **more))
    return judge(observe(world), LIMITS)


@pytest.mark.parametrize("age_s", [2.0, 5.0, 29.0])
def test_a_slow_driver_on_a_busy_box_is_not_a_hang(age_s):
    hung = SamplerFacts(problem=SamplerProblem.HUNG, since_success_s=age_s)
    assert said(hung).outcome is Outcome.PASS


@pytest.mark.parametrize("problem", sorted(set(SamplerProblem) - QUIET, key=lambda p: p.value))
def test_every_problem_is_named_once_it_has_lasted(problem):
    verdict = said(SamplerFacts(problem=problem, since_success_s=600.0))
    if problem is SamplerProblem.DISABLED:
        assert verdict.outcome is Outcome.NOT_APPLICABLE
    else:
        assert (verdict.outcome, verdict.reason) == (Outcome.FAIL, problem.value)


def test_silence_without_a_problem_is_stale():
    assert said(SamplerFacts(since_success_s=600.0)).reason == "stale"


def test_nothing_is_claimed_before_the_first_reading_is_late():
    begins = SamplerFacts(problem=SamplerProblem.STARTING, since_success_s=None, running_s=3.0)
    assert said(begins).outcome is Outcome.UNKNOWN


def test_one_that_never_came_is_late_by_the_time_it_was_asked_for():
    never = SamplerFacts(problem=SamplerProblem.STARTING, since_success_s=None, running_s=300.0)
    assert said(never).reason == "stale"


def test_a_box_without_gpus_has_nothing_to_be_stale():
    never = SamplerFacts(problem=SamplerProblem.NO_LIBRARY, since_success_s=None, running_s=9e4)
    empty = GpuCount(visible=frozenset(), on_bus=frozenset())
    assert said(never, states=(), counted=empty).outcome is Outcome.NOT_APPLICABLE
    assert said(never, states=(), counted=None).outcome is Outcome.NOT_APPLICABLE


def test_a_box_that_samples_seldom_is_given_its_own_time():
    seldom = SamplerFacts(since_success_s=90.0, interval_s=15.0)
    assert said(seldom).outcome is Outcome.PASS
    assert said(SamplerFacts(since_success_s=90.0)).outcome is Outcome.FAIL


@given(
    problem=st.sampled_from(SamplerProblem),
    age_s=st.floats(0, 1e4),
    later_s=st.floats(0, 1e4),
    interval_s=st.floats(0.1, 60),
)
def test_an_older_reading_is_never_fresher(problem, age_s, later_s, interval_s):
    young = SamplerFacts(problem=problem, since_success_s=age_s, interval_s=interval_s)
    old = SamplerFacts(problem=problem, since_success_s=age_s + later_s, interval_s=interval_s)
    if said(young).outcome is Outcome.FAIL:
        assert said(old).outcome is Outcome.FAIL
