"""When a check is asked again, and whether what it says counts."""

from types import SimpleNamespace

import pytest

from pfid.daemon.core import Checks
from pfid.daemon.judging import QUIET_MAX_S, UNCHANGED_MAX_S, Judging
from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.outcome import Outcome

NOW_S = 10_000.0
CADENCE_S = 5.0


def due_in_s(*, cadence_s=CADENCE_S, raw=Outcome.PASS, seen=3, timed=False, end=None, silent_s=0.0):
    """Seconds until the check is asked again; by default nothing that it reads has changed."""
    settled = SimpleNamespace(outcome=Outcome.PASS)
    judged = SimpleNamespace(
        settling=SimpleNamespace(settled=settled), raw=raw, seen=seen, timed=timed
    )
    run = SimpleNamespace(version=3, end=end, progress=SimpleNamespace(sign_s=NOW_S - silent_s))
    core = SimpleNamespace(gpus=SimpleNamespace(gpus={}))
    judging = Judging(core, None)
    return judging._next_due_s(run, SimpleNamespace(cadence_s=cadence_s), judged, NOW_S) - NOW_S


def test_a_check_that_asks_for_no_time_is_asked_again_every_two_minutes_while_nothing_changes():
    assert UNCHANGED_MAX_S == 120.0
    assert due_in_s() == 120.0
    assert due_in_s(cadence_s=300.0) == 300.0, "never oftener than its own cadence"


@pytest.mark.parametrize(
    "changed", [{"raw": Outcome.FAIL}, {"seen": 2}], ids=["on its way to another verdict", "news"]
)
def test_it_is_asked_at_its_cadence_as_soon_as_something_changed(changed):
    assert due_in_s(**changed) == CADENCE_S
    assert due_in_s(timed=True, **changed) == CADENCE_S


@pytest.mark.parametrize(
    ("silent_s", "again_s"), [(0.0, CADENCE_S), (40.0, 10.0), (1e6, QUIET_MAX_S)]
)
def test_one_that_asks_for_the_time_is_asked_the_seldomer_the_longer_all_is_silent(
    silent_s, again_s
):
    assert due_in_s(timed=True, silent_s=silent_s) == again_s


def test_of_an_ended_run_nothing_changes_with_time():
    assert due_in_s(timed=True, end="ended") == UNCHANGED_MAX_S


def gate(check, state):
    return Gate(check=check, stage="watch", state=state, proven_to=ProvenTo())


def test_only_a_check_whose_gate_is_proven_counts():
    checks = Checks(
        gates=(
            gate("good", GateState.PROVEN),
            gate("bad", GateState.UNPROVEN),
            gate("off", GateState.DISABLED),
        )
    )
    assert [checks.proven(name) for name in ("good", "bad", "off", "unheard_of")] == [
        True,
        False,
        False,
        False,
    ]
    assert not Checks().proven("good")


def test_what_is_proven_follows_the_gates_when_they_are_replaced():
    from dataclasses import replace

    checks = Checks(gates=(gate("good", GateState.PROVEN),))
    assert not replace(checks, gates=(gate("good", GateState.UNPROVEN),)).proven("good")
    assert replace(Checks(), gates=checks.gates).proven("good")
