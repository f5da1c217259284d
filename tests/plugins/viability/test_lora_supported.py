"""A class takes adapters or not; an adapter binds, is refused, or does nothing."""

import pytest
from pfid_plugins.viability.lora_supported import judge, observe

from pfid.domain.outcome import Outcome
from pfid.spec import NoLimits
from pfid.spec.fakes_engine import engine
from pfid.spec.fakes_viability import PLAN, model_world
from pfid.spec.ports.engine import AdapterFacts, MappingFacts


def verdict(**facts):
    return judge(observe(model_world(plan=PLAN, engine=engine(**facts))), NoLimits())


@pytest.mark.parametrize(
    ("adapter", "reason"),
    [
        (AdapterFacts(bound=2), "adapter_binds"),
        (AdapterFacts(bound=2, experts=2), "adapter_binds"),
        (AdapterFacts(nowhere=2), "adapter_does_nothing"),
        (AdapterFacts(nowhere=1, towers=1), "adapter_does_nothing"),
        (AdapterFacts(bound=1, nowhere=1), "adapter_in_part"),
        (AdapterFacts(nowhere=1, unseen=1), "adapter_in_part"),
        (AdapterFacts(bound=1, unseen=1), "adapter_unseen"),
        (AdapterFacts(bound=1, refused=1), "adapter_refused"),
    ],
)
def test_what_becomes_of_the_weights_decides(adapter, reason):
    assert verdict(adapter=adapter).reason == reason


def test_experts_bind_only_where_the_engine_has_their_names():
    adapter = AdapterFacts(experts=4)
    assert verdict(adapter=adapter).reason == "adapter_binds"
    said = verdict(adapter=adapter, mapping=MappingFacts(mapped=False))
    assert said.outcome is Outcome.UNKNOWN


def test_a_class_that_takes_none_is_not_asked_about_an_adapter():
    said = verdict(lora=False, adapter=AdapterFacts(bound=2))
    assert said.reason == "not_supported"


def test_the_evidence_says_whose_class_decided_and_where_weights_go():
    said = verdict(
        order=("MistralForCausalLM", "LlamaForCausalLM", "SupportsLoRA"),
        adapter=AdapterFacts(nowhere=1, evidence=("nowhere: layers.0.q -> layers.0.q",)),
    )
    text = "\n".join(said.evidence)
    assert "MistralForCausalLM < LlamaForCausalLM < SupportsLoRA" in text
    assert "nowhere: layers.0.q" in text
    assert said.figures["nowhere"].value == 1
