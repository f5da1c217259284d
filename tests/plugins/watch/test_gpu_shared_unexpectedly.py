"""Who else is on the run's GPUs?"""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pfid_plugins.watch.gpu_shared_unexpectedly import Limits, judge, observe

from pfid.domain.outcome import Outcome
from pfid.spec.fakes import CONTROL_RUN, CONTROL_SUBJECT, run_world
from pfid.spec.fakes_gpus import CONTROL_GPU, CONTROL_HOLDER, gpu_samples, gpu_state, gpus
from pfid.spec.ports.gpus import GpuHolder
from pfid.spec.world import World

LIMITS = Limits()
BIG = 10 * LIMITS.neighbour_bytes
STRANGER = GpuHolder(pid=77, memory_bytes=BIG, uid=1001, username="other")
OWN = dataclasses.replace(STRANGER, uid=CONTROL_RUN.uid, username="control")
HIDDEN = dataclasses.replace(STRANGER, visible=None, uid=None)


def card(*others, **more):
    fields = {"holders": (CONTROL_HOLDER, *others), **more}
    return gpu_state(gpu_samples(1), **fields)


def said(*cards, **more):
    world = World(subject=CONTROL_SUBJECT, run=run_world().run, gpus=gpus(*cards, **more))
    return judge(observe(world), LIMITS)


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ((), "alone"),
        ((STRANGER,), "other_user"),
        ((OWN,), "own_neighbour"),
        ((HIDDEN,), "neighbour_unknown"),
        ((OWN, HIDDEN), "neighbour_unknown"),
        ((HIDDEN, STRANGER), "other_user"),
        ((dataclasses.replace(STRANGER, graphics=True),), "alone"),
        ((dataclasses.replace(STRANGER, memory_bytes=1),), "alone"),
        ((dataclasses.replace(STRANGER, memory_bytes=None),), "neighbour_unknown"),
    ],
)
def test_neighbours(others, reason):
    assert said(card(*others)).reason == reason


def test_it_names_user_pid_and_card_and_nothing_else_of_a_stranger():
    facts = dataclasses.replace(CONTROL_GPU, index=3)
    stranger = dataclasses.replace(STRANGER, comm="secret_project.py")
    verdict = said(card(), card(stranger, facts=facts))
    for named in ("GPU 3", "user other", "pid 77"):
        assert named in verdict.summary
    assert "secret" not in verdict.summary
    assert verdict.figures["memory"].value == BIG


def test_a_name_with_escapes_does_not_reach_a_terminal():
    evil = dataclasses.replace(STRANGER, username="\x1b[31mroot\n")
    assert "\x1b" not in said(card(evil)).summary
    assert "\n" not in said(card(evil)).summary


def test_under_mig_a_card_is_shared_on_purpose():
    mig = dataclasses.replace(CONTROL_GPU, mig=True)
    assert said(card(STRANGER, facts=mig)).outcome is Outcome.NOT_APPLICABLE
    assert said(card(STRANGER, facts=mig), card()).outcome is Outcome.PASS


def test_a_card_nobody_can_read_is_not_free_of_neighbours():
    assert said(card(holders=None)).outcome is Outcome.UNKNOWN
    assert said(card(OWN), card(holders=None)).outcome is Outcome.UNKNOWN
    assert said(card(STRANGER), card(holders=None)).outcome is Outcome.FAIL


holders = st.builds(
    GpuHolder,
    pid=st.integers(1, 99),
    memory_bytes=st.integers(0, 2 * BIG) | st.none(),
    graphics=st.booleans(),
    visible=st.sampled_from([True, False, None]),
    uid=st.sampled_from([None, 0, 1000, 1001]),
    run_id=st.sampled_from([None, CONTROL_RUN.run_id, "other-run"]),
)


@given(found=st.lists(holders, max_size=4), more=holders)
def test_another_neighbour_never_hides_a_stranger(found, more):
    if said(card(*found)).outcome is Outcome.FAIL:
        assert said(card(*found, more)).outcome is Outcome.FAIL


@given(
    found=st.lists(holders, max_size=4), field=st.sampled_from(["uid", "memory_bytes", "visible"])
)
def test_what_is_not_known_never_makes_a_fail(found, field):
    if said(card(*found)).outcome is not Outcome.FAIL:
        unsaid = [dataclasses.replace(h, **{field: None}) for h in found]
        assert said(card(*unsaid)).outcome is not Outcome.FAIL


@given(found=st.lists(holders, max_size=4))
def test_the_runs_own_processes_are_never_its_neighbours(found):
    ours = [dataclasses.replace(h, run_id=CONTROL_RUN.run_id) for h in found]
    assert said(card(*ours)).reason == "alone"
