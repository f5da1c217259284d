"""Is GPU memory held by somebody who lives?"""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pfid_plugins.watch.gpu_memory_orphaned import Limits, judge, observe

from pfid.domain.gpu import AbsentReason
from pfid.domain.names import RunId
from pfid.domain.outcome import Outcome
from pfid.spec.fakes_gpus import (
    CONTROL_GPU_SUBJECT,
    CONTROL_HOLDER,
    gpu_samples,
    gpu_state,
    gpus,
)
from pfid.spec.ports.gpus import GpuHolder
from pfid.spec.world import World

LIMITS = Limits()
GIB = 1024**3
LEFT = GpuHolder(pid=9, memory_bytes=40 * GIB, run_id=RunId("old-run"), run_ended=True)
ZOMBIE = dataclasses.replace(LEFT, pid=10, zombie=True)


def said(*holders, samples=None, known=True, **fields):
    state = gpu_state(
        samples or gpu_samples(3),
        **{"holders": holders if known else None, "unheld_bytes": 0, **fields},
    )
    return judge(observe(World(subject=CONTROL_GPU_SUBJECT, gpus=gpus(state))), LIMITS)


@pytest.mark.parametrize(
    ("holders", "unheld", "reason"),
    [
        ((), 0, "accounted_for"),
        ((CONTROL_HOLDER,), 0, "accounted_for"),
        ((), 40 * GIB, "held_by_nobody"),
        ((CONTROL_HOLDER,), 40 * GIB, "held_by_nobody"),
        ((LEFT,), 0, "held_after_end"),
        ((ZOMBIE,), 0, "held_by_zombie"),
        ((LEFT, ZOMBIE), 0, "held_by_zombie"),
        ((CONTROL_HOLDER, LEFT), 0, "held_after_end"),
    ],
)
def test_who_holds_it(holders, unheld, reason):
    assert said(*holders, unheld_bytes=unheld).reason == reason


def test_it_says_both_that_the_run_has_ended_and_who_still_holds():
    verdict = said(ZOMBIE)
    assert "pid 10" in verdict.summary
    assert "old-run" in verdict.summary
    assert verdict.figures["held"].value == 40 * GIB


def test_in_a_container_nothing_is_claimed():
    hidden = GpuHolder(pid=4_000, memory_bytes=40 * GIB, visible=None)
    assert said(hidden, unheld_bytes=None).reason == "holders_hidden"


def test_what_the_driver_keeps_for_itself_is_no_orphan():
    assert said(unheld_bytes=LIMITS.orphaned_bytes - 1).outcome is Outcome.PASS
    assert said(unheld_bytes=LIMITS.orphaned_bytes).outcome is Outcome.FAIL


def test_memory_that_is_not_told_is_unknown_and_never_free():
    assert said(CONTROL_HOLDER, unheld_bytes=None).outcome is Outcome.UNKNOWN
    assert said(known=False).outcome is Outcome.UNKNOWN


def test_a_card_that_shares_memory_with_its_host_has_none_to_be_orphaned():
    absent = {"memory_used_bytes": AbsentReason.NOT_SUPPORTED}
    gb10 = gpu_samples(3, memory_used_bytes=None, absent=absent)
    assert said(samples=gb10, unheld_bytes=None).outcome is Outcome.NOT_APPLICABLE
    assert said(ZOMBIE, samples=gb10, unheld_bytes=None).reason == "held_by_zombie"


def test_a_lost_card_is_not_said_to_be_free():
    assert said(present=False).reason == "not_read"


holders = st.builds(
    GpuHolder,
    pid=st.integers(1, 99),
    memory_bytes=st.integers(0, 80 * GIB) | st.none(),
    visible=st.sampled_from([True, False, None]),
    run_ended=st.booleans(),
    zombie=st.booleans(),
)


@given(found=st.lists(holders, max_size=4), unheld=st.integers(0, 80 * GIB) | st.none())
def test_what_is_not_known_never_makes_a_fail(found, unheld):
    if said(*found, unheld_bytes=unheld).outcome is Outcome.FAIL:
        return
    assert said(*found, unheld_bytes=None).outcome is not Outcome.FAIL
    assert said(known=False, unheld_bytes=None).outcome is not Outcome.FAIL
    unsaid = [dataclasses.replace(h, memory_bytes=None) for h in found]
    assert said(*unsaid, unheld_bytes=unheld).outcome is not Outcome.FAIL


@given(found=st.lists(holders, max_size=4), unheld=st.integers(0, 80 * GIB), more=st.integers(0))
def test_more_memory_of_nobody_is_never_healthier(found, unheld, more):
    if said(*found, unheld_bytes=unheld).outcome is Outcome.FAIL:
        assert said(*found, unheld_bytes=unheld + more).outcome is Outcome.FAIL
