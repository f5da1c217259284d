"""What counts: an unproven check never passes, UNKNOWN never folds into PASS."""

from dataclasses import replace

import pytest

from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import VerdictView
from pfid.domain.verdict import BOX
from pfid.policy.standing import (
    believed,
    comes_to,
    denominator,
    gate_states,
    tally,
    unwatched,
)
from pfid.spec.reasons import UNPROVEN


def verdict(outcome=Outcome.PASS, **given):
    defaults = {"check": "a", "reason": "r", "summary": "s"}
    return VerdictView(
        stage="watch",
        entity=BOX,
        outcome=outcome,
        since_s=0.0,
        last_run_s=0.0,
        **{**defaults, **given},
    )


def gate(check="a", state=GateState.PROVEN):
    return Gate(check=check, stage="watch", state=state, proven_to=ProvenTo())


def test_a_proven_verdict_is_believed_as_it_is():
    assert believed(verdict(), {"a": GateState.PROVEN}) == verdict()


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.FAIL])
@pytest.mark.parametrize(
    ("counts", "state"),
    [(False, GateState.PROVEN), (True, GateState.UNPROVEN), (True, GateState.DISABLED)],
)
def test_anything_less_is_unknown(outcome, counts, state):
    shown = believed(verdict(outcome, counts=counts), {"a": state})
    assert (shown.outcome, shown.reason, shown.counts) == (Outcome.UNKNOWN, UNPROVEN, False)


def test_what_does_not_apply_needs_no_proof():
    shown = believed(verdict(Outcome.NOT_APPLICABLE), {"a": GateState.UNPROVEN})
    assert shown.outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize("outcome", [Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN])
def test_nobody_knows_of_a_run_that_is_not_watched(outcome):
    shown = unwatched(verdict(outcome))
    assert (shown.outcome, shown.reason) == (Outcome.UNKNOWN, "unwatched")


def test_several_engines_hold_a_gate_as_proven_as_the_worst():
    gates = [gate(), gate(state=GateState.UNPROVEN), gate()]
    assert gate_states(gates) == {"a": GateState.UNPROVEN}


def test_every_outcome_is_counted_even_at_zero():
    assert tally([verdict(), verdict(Outcome.FAIL)]) == {
        "pass": 1,
        "fail": 1,
        "unknown": 0,
        "not_applicable": 0,
    }


def test_the_denominator_counts_checks_not_verdicts():
    gates = [gate("a"), gate("b"), gate("c", GateState.UNPROVEN), gate("d", GateState.DISABLED)]
    verdicts = [
        verdict(check="a"),
        verdict(Outcome.FAIL, check="a"),
        verdict(Outcome.NOT_APPLICABLE, check="b"),
    ]
    count = denominator(gates, verdicts)
    assert (count.checks, count.proven, count.unproven, count.disabled) == (4, 2, 1, 1)
    assert (count.applicable, count.ran, count.firing) == (1, 2, 1)


def test_where_no_gate_is_known_nothing_ran_either():
    count = denominator([], [verdict(Outcome.FAIL, check="a")])
    assert (count.checks, count.ran, count.firing) == (0, 0, 0)


@pytest.mark.parametrize(
    ("outcomes", "gates", "expected"),
    [
        ([], [], Outcome.PASS),
        ([Outcome.PASS, Outcome.NOT_APPLICABLE], [gate()], Outcome.PASS),
        ([Outcome.PASS, Outcome.UNKNOWN], [gate()], Outcome.UNKNOWN),
        ([Outcome.UNKNOWN, Outcome.FAIL], [gate()], Outcome.FAIL),
        ([Outcome.PASS], [gate(state=GateState.UNPROVEN)], Outcome.UNKNOWN),
        ([Outcome.PASS], [gate(state=GateState.DISABLED)], Outcome.PASS),
    ],
)
def test_it_comes_to_the_worst_that_is_required(outcomes, gates, expected):
    assert comes_to([verdict(o) for o in outcomes], gates) is expected


def test_what_is_only_information_need_not_be_known_but_may_fail():
    info = verdict(Outcome.UNKNOWN, severity="info")
    assert comes_to([info]) is Outcome.PASS
    assert comes_to([replace(info, outcome=Outcome.FAIL)]) is Outcome.FAIL
