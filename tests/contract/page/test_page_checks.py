"""Verdicts and gates on the page: an unproven check is never shown as passing."""

import pytest

from pfid.adapters.page import render
from pfid.domain.gate import GateState
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import BOX, Entity, EntityKind
from pfid.spec.reasons import UNPROVEN


@pytest.fixture
def one(box, families):
    """What the page says of one verdict: failing, unknown, reasons."""

    def read(verdict, *gates):
        found = families(render(box.snapshot(runs=[box.run()], verdicts=[verdict], gates=gates)))
        reasons = [dict(labels)["reason"] for labels in found.get("pfid_check_reason_info", {})]
        failing = list(found.get("pfid_check_failing", {}).values())
        return failing, list(found.get("pfid_check_unknown", {}).values()), reasons

    return read


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome.PASS, ([0.0], [0.0], [])),
        (Outcome.FAIL, ([1.0], [0.0], ["why"])),
        (Outcome.UNKNOWN, ([0.0], [1.0], ["why"])),
        (Outcome.NOT_APPLICABLE, ([], [], [])),
    ],
)
def test_both_series_stand_where_the_check_applies_and_neither_where_not(box, one, outcome, said):
    assert one(box.verdict(outcome=outcome, reason="why"), box.gate()) == said


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN])
def test_a_verdict_that_does_not_count_is_unknown(box, one, outcome):
    assert one(box.verdict(outcome=outcome, counts=False), box.gate()) == ([0.0], [1.0], [UNPROVEN])


def test_an_unproven_gate_is_unknown_even_if_the_verdict_claims_to_count(box, one):
    said = one(box.verdict(), box.gate(state=GateState.UNPROVEN))
    assert said == ([0.0], [1.0], [UNPROVEN])


def test_a_disabled_check_says_nothing(box, one):
    assert one(box.verdict(), box.gate(state=GateState.DISABLED)) == ([], [], [])


def test_a_verdict_of_another_stage_is_not_on_the_page(box, one):
    assert one(box.verdict(stage="preflight"), box.gate()) == ([], [], [])


def test_the_box_has_no_entity_label_and_a_gpu_has_its_uuid(box, families, label):
    gpu = Entity(EntityKind.GPU, "GPU-1")
    snapshot = box.snapshot(verdicts=[box.verdict("a", BOX), box.verdict("b", gpu)])
    found = families(render(snapshot))
    assert set(found["pfid_check_failing"]) == {label(check="a"), label(check="b", uuid="GPU-1")}


def test_verdicts_that_share_a_series_are_combined_and_the_worst_wins(box, families, label):
    gates = [Entity(EntityKind.GATE, name) for name in "abc"]
    outcomes = [Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN]
    verdicts = [
        box.verdict("gate_proof_stale", gate, outcome, reason=outcome.value)
        for gate, outcome in zip(gates, outcomes, strict=True)
    ]
    found = families(render(box.snapshot(verdicts=verdicts)))
    assert found["pfid_check_failing"] == {label(check="gate_proof_stale"): 1.0}
    assert found["pfid_check_reason_info"] == {label(check="gate_proof_stale", reason="fail"): 1.0}


def test_a_leg_that_cannot_be_tried_here_is_absent(box, families, label):
    found = families(render(box.snapshot(gates=[box.gate(controls=True, live=False)])))
    assert found["pfid_gate_proven"] == {
        label(check="run_gone", leg="controls"): 1.0,
        label(check="run_gone", leg="live"): 0.0,
    }


def test_gates_are_counted_by_state_all_states_present(box, families, label):
    gates = [box.gate("a"), box.gate("b", GateState.UNPROVEN), box.gate("c")]
    found = families(render(box.snapshot(gates=gates)))
    assert found["pfid_gates"] == {
        label(state="proven"): 2.0,
        label(state="unproven"): 1.0,
        label(state="disabled"): 0.0,
    }


def test_a_gate_without_a_proof_has_no_timestamp(box, families):
    from dataclasses import replace

    found = families(render(box.snapshot(gates=[replace(box.gate(), proven_at_s=None)])))
    assert "pfid_gate_proof_timestamp_seconds" not in found


def test_a_health_that_is_bad_shows(box, families):
    from dataclasses import replace

    health = replace(box.snapshot().health, ready=False, config_ok=False, store_problem="full")
    found = families(render(box.snapshot(health=health)))
    for name in ("pfid_ready", "pfid_config_last_reload_successful", "pfid_store_writable"):
        assert found[name] == {frozenset(): 0.0}
