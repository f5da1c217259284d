"""Does every proof that is believed still hold?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pfid_plugins.watch.gate_proof_stale import Limits, judge, observe

from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.names import CheckName
from pfid.domain.outcome import Outcome
from pfid.spec import BOX
from pfid.spec.fakes import FixedClock, FixedGates
from pfid.spec.ports.gates import GateFacts
from pfid.spec.world import World

NOW_S, DAY_S = 2_000_000_000.0, 86_400.0
LIMITS = Limits()


def proof(age_s, name="one", *, state=GateState.PROVEN, key="k", current="k"):
    gate = Gate(
        check=CheckName(name),
        stage="watch",
        state=state,
        proven_to=ProvenTo(),
        key=key,
        proven_at_s=None if age_s is None else NOW_S - age_s,
    )
    return GateFacts(gate=gate, current_key=current)


def said(*gates, standing=True):
    world = World(
        subject=BOX,
        clock=FixedClock(wall_s=NOW_S),
        gates=FixedGates(standing=gates if standing else None),
    )
    return judge(observe(world), LIMITS)


@pytest.mark.parametrize(
    ("gates", "reason"),
    [
        ([proof(0.0)], "fresh"),
        ([proof(7 * DAY_S)], "fresh"),
        ([proof(7 * DAY_S + 1)], "proof_expired"),
        ([proof(DAY_S), proof(8 * DAY_S, "two")], "proof_expired"),
        ([proof(None)], "proof_expired"),
        ([proof(DAY_S, current="other")], "proof_of_other_code"),
        ([proof(DAY_S, key="", current="other")], "proof_of_other_code"),
        ([proof(9 * DAY_S, current="other")], "proof_of_other_code"),
        ([proof(-60.0)], "fresh"),
        ([proof(-3600.0)], "proof_from_future"),
        ([proof(-3600.0), proof(8 * DAY_S, "two")], "proof_expired"),
        ([proof(DAY_S), proof(99 * DAY_S, "two", state=GateState.UNPROVEN)], "fresh"),
        ([proof(DAY_S), proof(99 * DAY_S, "two", state=GateState.DISABLED)], "fresh"),
        ([proof(DAY_S, state=GateState.DISABLED)], "nothing_proven"),
        ([], "nothing_proven"),
    ],
)
def test_proofs_are_judged(gates, reason):
    assert said(*gates).reason == reason


def test_a_selftest_that_has_not_run_is_unknown():
    assert said(standing=False).outcome is Outcome.UNKNOWN


def test_the_stale_checks_are_named_and_counted():
    verdict = said(proof(DAY_S), proof(8 * DAY_S, "run_gone"), proof(9 * DAY_S, "run_stalled"))
    assert verdict.summary.endswith("; run_gone, run_stalled")
    assert verdict.figures["stale"].value == 2
    assert verdict.figures["believed"].value == 3
    assert verdict.figures["oldest"].value == 9 * DAY_S


ages = st.lists(st.floats(-1e4, 1e6), min_size=1, max_size=5)


@given(ages=ages, older_s=st.floats(0, 1e6), at=st.integers(0, 4))
def test_an_older_proof_is_never_healthier(ages, older_s, at):
    gates = [proof(age_s, f"c{i}") for i, age_s in enumerate(ages)]
    older = list(gates)
    place = at % len(gates)
    older[place] = proof(ages[place] + older_s, f"c{place}")
    if said(*gates).outcome is Outcome.FAIL:
        assert said(*older).outcome is Outcome.FAIL


@given(ages=ages, more=ages)
def test_one_more_gate_never_hides_a_failure(ages, more):
    few = [proof(age_s, f"a{i}") for i, age_s in enumerate(ages)]
    many = few + [proof(age_s, f"b{i}") for i, age_s in enumerate(more)]
    if said(*few).outcome is Outcome.FAIL:
        assert said(*many).outcome is Outcome.FAIL


def test_the_verdict_is_about_the_box():
    assert said(proof(0.0)).entity is None
