"""Is a GPU gone?"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pfid_plugins.watch.gpu_lost import Limits, judge, observe

from pfid.domain.outcome import Outcome
from pfid.domain.verdict import BOX
from pfid.spec.fakes_gpus import gpu_state, gpus
from pfid.spec.ports.gpus import GpuCount, SamplerFacts, SamplerProblem, Withheld
from pfid.spec.world import World

EIGHT = frozenset(f"0000:{n:02x}:00.0" for n in range(8))
LOST = "0000:05:00.0"
FRESH = SamplerFacts(since_success_s=0.5)


def said(count, how=FRESH, states=None):
    shown = (gpu_state(),) if states is None else states
    world = World(subject=BOX, gpus=gpus(*shown, counted=count, how=how))
    return judge(observe(world), Limits())


def test_the_one_that_is_gone_is_named_by_its_place():
    verdict = said(GpuCount(visible=EIGHT - {LOST}, remembered=EIGHT))
    assert verdict.reason == "gone"
    assert LOST in verdict.summary
    assert verdict.figures["expected"].value == 8
    assert verdict.figures["visible"].value == 7


@pytest.mark.parametrize("problem", [p for p in SamplerProblem if p is not SamplerProblem.NONE])
def test_a_driver_that_does_not_answer_has_lost_nothing(problem):
    """After an upgrade under a running job the list is empty, and every card is there."""
    count = GpuCount(visible=frozenset(), remembered=EIGHT, on_bus=EIGHT)
    verdict = said(count, SamplerFacts(problem=problem, since_success_s=1.0))
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, "driver_unreadable")


def test_a_card_that_was_replaced_by_its_owner_is_settled_by_configuration():
    seven = EIGHT - {LOST}
    assert said(GpuCount(visible=seven, remembered=EIGHT)).outcome is Outcome.FAIL
    count = GpuCount(visible=seven, remembered=EIGHT, configured=7)
    assert said(count).outcome is Outcome.PASS


def test_configuration_cannot_hide_that_too_few_answer():
    count = GpuCount(visible=EIGHT - {LOST}, remembered=EIGHT - {LOST}, configured=8)
    assert said(count).reason == "fewer_than_configured"


def test_no_gpu_and_no_driver_is_a_box_without_gpus():
    how = SamplerFacts(problem=SamplerProblem.NO_LIBRARY, since_success_s=None)
    for count in (None, GpuCount(visible=frozenset(), on_bus=frozenset())):
        assert said(count, how, states=()).reason == "no_gpus"


def test_a_card_on_the_bus_of_a_box_without_driver_is_not_a_box_without_gpus():
    how = SamplerFacts(problem=SamplerProblem.NO_DRIVER, since_success_s=None)
    count = GpuCount(visible=frozenset(), on_bus=frozenset({LOST}))
    assert said(count, how, states=()).outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    "why", [why for why in Withheld if why is not Withheld.NONE], ids=lambda why: why.value
)
def test_cards_that_need_not_be_ours_are_no_loss_and_those_that_answered_are(why):
    one = frozenset({LOST})
    part = GpuCount(visible=one, remembered=one, on_bus=EIGHT, withheld=why)
    verdict = said(part)
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, "not_ours_to_see")
    assert said(replace(part, visible=frozenset())).reason == "gone"
    assert said(replace(part, withheld=Withheld.NONE)).reason == "never_answered"
    assert said(replace(part, configured=8)).reason == "fewer_than_configured"


places = st.frozensets(st.sampled_from(sorted(EIGHT)))


@given(visible=places, remembered=places, on_bus=places | st.none(), lost=places)
def test_losing_a_card_never_looks_healthier(visible, remembered, on_bus, lost):
    before = said(GpuCount(visible=visible, remembered=remembered | visible, on_bus=on_bus))
    after = said(GpuCount(visible=visible - lost, remembered=remembered | visible, on_bus=on_bus))
    if before.outcome is Outcome.FAIL or lost & visible:
        assert after.outcome is Outcome.FAIL
