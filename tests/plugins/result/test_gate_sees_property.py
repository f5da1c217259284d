"""A blind spot is named; a fault that did not arrive names nothing."""

import pytest
from pfid_plugins.result.gate_sees_property import Limits, judge, observe

from pfid.domain.outcome import Outcome
from pfid.spec.fakes_results import arm, record, result_facts, result_world
from pfid.spec.ports.planted import PlantedFacts, PlantedFault


def verdict(*faults):
    facts = PlantedFacts(faults=faults)
    world = result_world(result_facts(arm([record(1)])), planted=facts)
    return judge(observe(world), Limits())


def fault(name, harmed, seen_by=("gate",), **more):
    known = {"answers": 10, "able": 10, "delivered": 10, "seen_by": seen_by, **more}
    return PlantedFault(name=name, property=harmed, **known)


def test_every_unseen_fault_is_named_with_its_property():
    found = verdict(
        fault("truncated", "length", ()), fault("padded", "length", ()), fault("looped", "collapse")
    )
    assert found.reason == "blind"
    assert found.summary.endswith("length (truncated), length (padded)")
    assert found.figures["properties_blind"].value == 1
    assert "collapse/looped: in 10 of 10, seen by gate" in found.evidence


def test_one_fault_of_two_unseen_is_a_blind_spot():
    assert verdict(fault("truncated", "length"), fault("padded", "length", ())).reason == "blind"


@pytest.mark.parametrize(("delivered", "reason"), [(8, "seen"), (7, "not_delivered")])
def test_what_did_not_arrive_shows_nothing(delivered, reason):
    assert verdict(fault("looped", "collapse", delivered=delivered)).reason == reason


def test_a_blind_spot_outweighs_what_could_not_be_planted():
    none = fault("memorised", "memorisation", (), problem="no_corpus")
    assert verdict(none, fault("padded", "length", ())).reason == "blind"
    assert verdict(none, fault("padded", "length")).reason == "not_planted"


def test_a_gate_that_fails_already_is_named_and_its_silence_is_no_blind_spot():
    found = verdict(fault("looped", "collapse", (), failing=("collapse",)))
    assert found.reason == "answers_not_good"
    assert found.evidence == (
        "collapse/looped: in 10 of 10, seen by none, fails already: collapse",
    )


def test_a_metric_that_could_not_be_driven_is_named_and_is_no_blind_spot():
    hung = fault("looped", "collapse", (), undriven=("metric f1: python_hung",))
    found = verdict(hung)
    assert found.reason == "metric_undriven"
    assert found.evidence == (
        "collapse/looped: in 10 of 10, seen by none, not driven: metric f1: python_hung",
    )
    assert verdict(fault("looped", "collapse", undriven=("metric f1: x",))).reason == "seen"


def test_a_gate_set_of_short_answers_sees_no_length_whatever_looks_at_it():
    short = fault("truncated", "length", ("length_conformance",), able=0, delivered=0)
    found = verdict(short, fault("refused", "refusal"))
    assert found.outcome is Outcome.FAIL
    assert found.reason == "short_answers"
    assert found.summary.endswith("length (truncated)")
    assert found.figures["properties_blind"].value == 1
    assert "in 0 of 0 (10 are too short)" in found.evidence[0]
    assert verdict(short, fault("looped", "collapse", ())).reason == "blind"
