"""The gate cannot open by chance: only what its controls demand opens it."""

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from pfid.adapters.page import Page
from pfid.bootstrap.far_end import far_end
from pfid.domain.errors import CheckDefinitionError
from pfid.domain.gate import GateState
from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import BOX, Entity, EntityKind, Verdict
from pfid.policy.proof import prove
from pfid.spec.check import Check, Stage
from pfid.spec.control import Control
from pfid.spec.fakes import FixedClock
from pfid.spec.world import World

REASONS = {
    "good": Outcome.PASS,
    "bad": Outcome.FAIL,
    "worse": Outcome.FAIL,
    "blind": Outcome.UNKNOWN,
    "absent": Outcome.NOT_APPLICABLE,
}
CASES = tuple(REASONS)
END = far_end(Page(synthetic=True).render)
ELSEWHERE = Entity(EntityKind.GPU, "GPU-elsewhere")


@dataclasses.dataclass(frozen=True)
class Seen:
    case: float


def control(number, reason):
    world = World(clock=FixedClock(wall_s=float(number)))
    return Control(name=reason, world=world, expect=REASONS[reason], reason=reason)


CONTROLS = tuple(control(n, r) for n, r in enumerate(CASES))


def make(answer, controls=CONTROLS):
    return Check(
        name="example",
        stage=Stage.WATCH,
        observe=lambda w: Seen(case=w.clock.now_s()),
        judge=lambda seen, _: answer(int(seen.case)),
        reasons=REASONS,
        controls=lambda _: controls,
        reads=("clock",),
        runbook="Fail when wrong.",
    )


def proof(check):
    return prove(check, far_end=END, monotonic_s=lambda: 0.0)


def verdict(reason, outcome=None, entity=None):
    return Verdict(
        outcome=REASONS[reason] if outcome is None else outcome,
        reason=ReasonCode(reason),
        summary="",
        entity=entity,
    )


answers = st.lists(
    st.one_of(
        st.sampled_from(CASES).map(verdict),
        st.builds(verdict, st.sampled_from(CASES), st.sampled_from(list(Outcome))),
        st.builds(verdict, st.sampled_from(CASES), entity=st.sampled_from([BOX, ELSEWHERE])),
        st.sampled_from([None, True, "PASS", ValueError("raised")]),
    ),
    min_size=len(CASES),
    max_size=len(CASES),
)


def told(table):
    def answer(case):
        said = table[case]
        if isinstance(said, Exception):
            raise said
        return said

    return answer


def is_as_declared(said, reason):
    return (
        isinstance(said, Verdict)
        and (said.outcome, said.reason) == (REASONS[reason], reason)
        and said.entity in (None, BOX)
    )


def test_the_right_answers_open_it():
    assert proof(make(told([verdict(r) for r in CASES]))).state is GateState.PROVEN


@settings(max_examples=150)
@given(answers)
def test_nothing_but_the_declared_answers_opens_it(table):
    right = all(is_as_declared(said, r) for said, r in zip(table, CASES, strict=True))
    gate = proof(make(told(table)))
    assert (gate.state is GateState.PROVEN) is right
    assert bool(gate.why) is not right


@given(st.integers(0, len(CASES) - 1), answers)
def test_one_wrong_answer_is_enough_to_close_it(wrong, table):
    right = [verdict(r) for r in CASES]
    mixed = [*right[:wrong], table[wrong], *right[wrong + 1 :]]
    gate = proof(make(told(mixed)))
    assert (gate.state is GateState.PROVEN) is is_as_declared(table[wrong], CASES[wrong])


@given(st.sets(st.sampled_from(CONTROLS)))
def test_without_a_control_of_each_kind_there_is_no_check_to_prove(some):
    kinds = {c.expect for c in some}
    shown = {c.reason for c in some}
    complete = {Outcome.PASS, Outcome.FAIL, Outcome.UNKNOWN} <= kinds and shown == set(REASONS)
    try:
        check = make(told([verdict(r) for r in CASES]), tuple(some))
    except CheckDefinitionError:
        assert not complete
    else:
        assert complete
        assert check.built_controls()
