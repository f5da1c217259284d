"""Is a mask that is not what its layer type says found, under the attention that will be used?"""

import dataclasses

import pytest
from pfid_plugins.preflight.attention_mask_structure import judge, observe

from pfid.analysis.mask_cases import healthy, mask_cases, planted
from pfid.domain.outcome import Outcome
from pfid.spec import NoLimits
from pfid.spec.fakes_facts import project_world
from pfid.spec.ports.masks import MaskFacts


def said(facts):
    return judge(observe(project_world(masks=facts)), NoLimits())


@pytest.mark.parametrize("case", mask_cases(), ids=lambda case: case.name)
def test_each_case_is_named_as_what_it_is(case):
    assert said(MaskFacts(report=case.report, attention=case.attention)).reason == case.reason


def test_a_fault_under_another_attention_does_not_stop_this_run():
    report = dataclasses.replace(healthy(), flash_window=1_025)
    assert said(MaskFacts(report=report, attention="sdpa")).outcome is Outcome.PASS
    assert said(MaskFacts(report=report, attention="flash_attention_2")).outcome is Outcome.FAIL


def test_the_attention_that_the_configuration_asks_for_is_judged_if_none_is_named():
    report = dataclasses.replace(healthy(), flash_window=1_025, requested="flash_attention_2")
    assert said(MaskFacts(report=report)).reason == "window_off_by_one"


@pytest.mark.parametrize("left", range(3))
def test_a_probe_that_misses_one_planted_fault_is_believed_nothing(left):
    faults = list(planted())
    faults[left] = dataclasses.replace(faults[left], beyond=0, future=0, attention="sdpa")
    report = dataclasses.replace(healthy(), planted=tuple(faults))
    assert said(MaskFacts(report=report)).reason == "instrument_blind"


def test_the_window_and_what_was_counted_are_the_figures():
    figures = said(MaskFacts(report=healthy())).figures
    assert figures["window"].value == figures["max_allowed"].value == 1_024


def test_a_problem_that_nobody_declared_is_unknown_and_its_words_are_kept():
    verdict = said(MaskFacts(problem="something new", detail="its words"))
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.evidence == ("its words",)
