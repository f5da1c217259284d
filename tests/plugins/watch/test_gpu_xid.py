"""Whose fault is an Xid?"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pfid_plugins.watch.gpu_xid import ANSWERS, Limits, judge, observe

from pfid.analysis.gpu_xids import CATALOGUE, XidClass
from pfid.domain.gpu import XidEvent
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import EntityKind
from pfid.spec.fakes import CONTROL_RUN, FixedClock
from pfid.spec.fakes_gpus import CONTROL_GPU_SUBJECT, CONTROL_UUID, NEWEST_S, gpu_state, gpus
from pfid.spec.ports.gpus import GpuXid, SamplerFacts, SamplerProblem, Unheard
from pfid.spec.world import World

RUN = CONTROL_RUN.run_id


def xid(code, age_s=5.0, run_id=None):
    event = XidEvent(uuid=CONTROL_UUID, code=code, at_s=NEWEST_S - age_s, pid=1)
    return GpuXid(event=event, run_id=run_id)


def said(*xids, present=True, unheard=(), listened_s=NEWEST_S - 600.0, **more):
    state = gpu_state(xids=xids, present=present, unheard=unheard, listened_s=listened_s)
    world = World(
        subject=CONTROL_GPU_SUBJECT,
        clock=FixedClock(wall_s=NEWEST_S),
        gpus=gpus(state, **more),
    )
    return judge(observe(world), Limits())


EXPECTED = {
    XidClass.FATAL: "fatal_error",
    XidClass.HARDWARE: "hardware_error",
    XidClass.APPLICATION: "program_of_no_run",
    XidClass.FOLLOW_UP: "no_recent_errors",
}


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_of_the_catalogue_is_judged_by_its_class(code):
    assert said(xid(code)).reason == EXPECTED[CATALOGUE[code].kind]


def test_an_error_of_a_program_is_about_the_run_only_if_it_is_one():
    """The driver may name nvidia-smi, or another bystander, beside the trainer that failed."""
    verdict = said(xid(31, run_id=RUN))
    assert (verdict.outcome, verdict.reason) == (Outcome.FAIL, "application_error")
    assert (verdict.entity.kind, verdict.entity.id) == (EntityKind.RUN, RUN)
    stranger = said(xid(31))
    assert (stranger.outcome, stranger.entity) == (Outcome.PASS, None)


def test_an_error_whose_program_nobody_named_is_not_called_somebody_elses():
    """NVML's own events carry no process."""
    event = replace(xid(31).event, pid=None)
    verdict = said(GpuXid(event=event))
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, "program_not_named")


def test_an_error_of_the_card_is_about_the_card_whoever_was_on_it():
    assert said(xid(48, run_id=RUN)).entity is None


def test_a_program_that_was_killed_leaves_no_failure_behind():
    assert said(xid(45, run_id=RUN)).outcome is Outcome.PASS


def test_a_fatal_error_stands_until_the_driver_was_loaded_again():
    assert said(xid(79, age_s=40 * 86_400.0)).reason == "fatal_error"


def test_after_a_fatal_error_nothing_is_read_and_it_still_fails():
    stopped = SamplerFacts(problem=SamplerProblem.FATAL_XID, since_success_s=9e5)
    assert said(xid(119), how=stopped).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    "problem", [SamplerProblem.HUNG, SamplerProblem.CRASHED, SamplerProblem.FATAL_XID]
)
def test_nobody_who_does_not_listen_says_that_all_is_quiet(problem):
    deaf = SamplerFacts(problem=problem, since_success_s=100.0)
    assert said(how=deaf).reason == "not_listening"
    assert said(xid(48), how=deaf).outcome is Outcome.FAIL


def test_a_card_that_is_gone_or_held_back_is_not_quiet():
    """The sampler answers for the others; of this one it registers no events."""
    assert said(present=False).reason == "not_listening"
    assert said(xid(79), present=False).reason == "fatal_error"


def test_while_nobody_listened_nothing_need_have_been_quiet():
    gap = Unheard(until_s=NEWEST_S - 60.0, for_s=20.0)
    verdict = said(unheard=(gap, replace(gap, for_s=2.0)))
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, "not_heard_throughout")
    assert [verdict.figures[n].value for n in ("unheard", "times", "ago")] == [22.0, 2, 60.0]
    assert said(xid(48), unheard=(gap,)).outcome is Outcome.FAIL


def test_it_says_since_when_it_is_listened():
    assert said(listened_s=NEWEST_S - 90.0).figures["listened"].value == 90.0
    assert said(listened_s=None).reason == "not_listening"


def test_it_counts_how_often_the_same_code_came():
    verdict = said(xid(63, 90.0), xid(63, 60.0), xid(94, 30.0), xid(63, 10.0))
    assert verdict.figures["reported"].value == 3
    assert "a memory row was set aside" in verdict.summary


def test_of_several_the_newest_of_the_worst_speaks():
    verdict = said(xid(31, 5.0, RUN), xid(48, 50.0), xid(74, 20.0))
    assert verdict.reason == "hardware_error"
    assert verdict.figures["xid"].value == 74


events = st.lists(
    st.builds(
        xid,
        code=st.sampled_from([*CATALOGUE, 9_999]),
        age_s=st.floats(0, 1e6),
        run_id=st.sampled_from([None, RUN]),
    ),
    max_size=6,
)


@given(before=events, more=events)
def test_another_error_never_makes_it_healthier(before, more):
    if said(*before).outcome is Outcome.FAIL:
        assert said(*before, *more).outcome is Outcome.FAIL


@given(found=events)
def test_the_answer_is_a_declared_one(found):
    verdict = said(*found)
    assert ANSWERS.reasons[verdict.reason] is verdict.outcome
