"""The rule of the installed engine decides, and nobody is asked about a model without experts."""

from dataclasses import replace

import pytest
from pfid_plugins.viability.expert_mapping import judge, observe

from pfid.domain.errors import PortNotSetUpError
from pfid.domain.outcome import Outcome
from pfid.domain.training_plan import Method
from pfid.spec import NoLimits
from pfid.spec.fakes_engine import MOE, engine
from pfid.spec.fakes_viability import DENSE, PLAN, model, model_world
from pfid.spec.ports.engine import MappingFacts


def verdict(**facts):
    world = model_world(model=model(MOE), plan=PLAN, engine=engine(**facts))
    return judge(observe(world), NoLimits())


@pytest.mark.parametrize(
    ("shape", "plan", "reason"),
    [
        (DENSE, PLAN, "dense"),
        (MOE, replace(PLAN, method=Method.FULL), "no_adapter"),
    ],
)
def test_an_engine_is_not_asked_where_it_does_not_matter(shape, plan, reason):
    world = model_world(model=model(shape), plan=plan)
    assert judge(observe(world), NoLimits()).reason == reason


def test_an_engine_is_asked_about_experts():
    with pytest.raises(PortNotSetUpError):
        observe(model_world(model=model(MOE), plan=PLAN))


def test_a_mapping_that_is_missing_is_refused_by_name_and_version():
    said = verdict(
        version="0.24.0",
        class_name="Gemma4ForConditionalGeneration",
        mapping=MappingFacts(mapped=False, evidence=("looks at: children, class",)),
    )
    assert said.outcome is Outcome.FAIL
    assert said.reason == "mapping_missing"
    assert "vLLM 0.24.0; Gemma4ForConditionalGeneration" in said.summary
    assert "looks at: children, class" in said.evidence
    assert said.figures["experts"].value == 128


def test_what_could_not_be_followed_is_never_a_refusal():
    unseen = MappingFacts(builds=True, mapped=None, evidence=("not seen: language_model",))
    said = verdict(mapping=unseen)
    assert said.outcome is Outcome.UNKNOWN
    assert "not seen: language_model" in said.evidence


def test_the_running_engine_outweighs_its_source():
    said = verdict(confirmed=False, confirmation="the engine was imported and says otherwise")
    assert said.reason == "engine_contradicts"
    assert "the engine was imported and says otherwise" in said.evidence
