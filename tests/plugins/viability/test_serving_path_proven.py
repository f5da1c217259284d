"""What was seen counts for the engine it was seen on, and for nothing else."""

from dataclasses import replace

import pytest
from pfid_plugins.viability.serving_path_proven import judge, observe

from pfid.domain.serving import ServingEnd
from pfid.spec import NoLimits, Outcome
from pfid.spec.fakes_viability import model_world
from pfid.spec.ports.served import ServedFacts

SERVED = ServedFacts(
    shape="adapter", found=1, end=ServingEnd.READY, engine="vllm 0.33.0", same_engine=True
)


def said(facts):
    return judge(observe(model_world(served=facts)), NoLimits())


@pytest.mark.parametrize("end", [end for end in ServingEnd if end is not ServingEnd.READY])
def test_whatever_is_not_ready_fails_in_its_own_name(end):
    verdict = said(replace(SERVED, end=end, error=("its words",)))
    assert (verdict.outcome, verdict.reason) == (Outcome.FAIL, end.value)
    assert "its words" in verdict.evidence
    assert "its words" not in verdict.summary


@pytest.mark.parametrize("end", list(ServingEnd))
def test_another_version_is_no_proof_however_it_came_out(end):
    assert said(replace(SERVED, end=end, same_engine=False)).reason == "other_version"


def test_an_absent_proof_fails_though_nobody_asked_for_it_and_so_does_a_bad_one():
    verdict = said(ServedFacts(shape="adapter", declared=False, other_shape=1))
    assert (verdict.outcome, verdict.reason) == (Outcome.FAIL, "not_declared")
    assert "the other shape" in verdict.summary
    for end in ServingEnd:
        kept = replace(SERVED, declared=False, end=end)
        assert said(kept) == said(replace(kept, declared=True))


def test_an_absent_proof_fails_and_says_what_there_is_instead():
    verdict = said(ServedFacts(shape="merged", other_shape=1, other_model=2))
    assert (verdict.outcome, verdict.reason) == (Outcome.FAIL, "not_proven")
    assert "as merged weights" in verdict.summary
    assert "the other shape" in verdict.summary
    assert "another of its architecture" in verdict.summary
