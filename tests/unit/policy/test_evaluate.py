"""Whatever a check does, a verdict comes out."""

import dataclasses

import pytest

from pfid.domain.errors import PortError
from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import BOX, Entity, EntityKind, Figure, Verdict
from pfid.policy.evaluate import attempt, run_check
from pfid.spec.check import Check, Stage
from pfid.spec.control import Control
from pfid.spec.fakes import CONTROL_SUBJECT, FixedClock
from pfid.spec.world import World

WORLD = World(subject=CONTROL_SUBJECT, clock=FixedClock())
REASONS = {"fine": Outcome.PASS, "bad": Outcome.FAIL, "blind": Outcome.UNKNOWN}


def says(outcome, reason, **more):
    return Verdict(outcome=outcome, reason=ReasonCode(reason), summary="s", **more)


FINE = says(Outcome.PASS, "fine")


def check(judge, observe=lambda w: w.clock.now_s()):
    return Check(
        name="example",
        stage=Stage.WATCH,
        observe=observe,
        judge=lambda o, _: judge(o),
        reasons=REASONS,
        controls=lambda _: [
            Control(name=r, world=WORLD, expect=o, reason=r) for r, o in REASONS.items()
        ],
        reads=("clock",),
        runbook="An example.",
    )


def test_the_checks_own_verdict_is_stamped_with_the_worlds_subject():
    verdict = run_check(check(lambda _: FINE), WORLD)
    assert verdict == dataclasses.replace(FINE, entity=CONTROL_SUBJECT)


def test_nothing_a_check_says_is_lost_when_its_verdict_is_stamped():
    full = Verdict(
        outcome=Outcome.PASS,
        reason=ReasonCode("fine"),
        summary="s",
        figures={"n": Figure(1.0, "1")},
        evidence=("line",),
        label="slow",
    )
    said = {f.name for f in dataclasses.fields(Verdict) if getattr(full, f.name) != f.default}
    assert said == {f.name for f in dataclasses.fields(Verdict)} - {"entity"}
    stamped = run_check(check(lambda _: full), WORLD)
    assert stamped == dataclasses.replace(full, entity=CONTROL_SUBJECT)


def test_an_entity_the_check_chose_is_kept():
    gpu = Entity(EntityKind.GPU, "GPU-1")
    assert run_check(check(lambda _: dataclasses.replace(FINE, entity=gpu)), WORLD).entity == gpu


def raises(error):
    def judge(_):
        raise error

    return judge


@pytest.mark.parametrize(
    "error", [ValueError("x"), KeyError("x"), RecursionError(), MemoryError(), SystemExit(0)]
)
def test_an_exception_is_unknown_check_error(error):
    got = attempt(check(raises(error)), WORLD)
    assert (got.verdict.outcome, got.verdict.reason) == (Outcome.UNKNOWN, "check_error")
    assert type(error).__name__ in got.error
    assert got.verdict.entity == CONTROL_SUBJECT


def test_an_interrupt_is_not_swallowed():
    with pytest.raises(KeyboardInterrupt):
        run_check(check(raises(KeyboardInterrupt())), WORLD)


def test_the_text_of_an_exception_stays_private():
    verdict = run_check(check(raises(ValueError("/home/ann/secret"))), WORLD)
    assert "secret" not in verdict.summary
    assert "secret" in verdict.evidence[0]


def test_a_port_that_cannot_be_read_is_unknown_port_unreadable():
    verdict = run_check(check(raises(PortError("gone"))), WORLD)
    assert (verdict.outcome, verdict.reason) == (Outcome.UNKNOWN, "port_unreadable")


def test_a_port_that_was_not_set_up_is_named():
    got = attempt(check(lambda _: FINE, observe=lambda w: w.log.facts()), WORLD)
    assert got.verdict.reason == "port_unreadable"
    assert "world.log.facts" in got.error


@pytest.mark.parametrize(
    "verdict",
    [says(Outcome.FAIL, "surprise"), says(Outcome.PASS, "bad"), says(Outcome.FAIL, "fine")],
)
def test_a_reason_that_was_not_declared_for_the_outcome_is_unknown(verdict):
    got = run_check(check(lambda _: verdict), WORLD)
    assert (got.outcome, got.reason) == (Outcome.UNKNOWN, "undeclared_reason")


@pytest.mark.parametrize(
    "nonsense",
    [
        None,
        True,
        "PASS",
        Outcome.PASS,
        says("pass", "fine"),
        says(Outcome.PASS, "fine", figures={"age": 3.0}),
        says(Outcome.PASS, "fine", figures=[("age", Figure(1.0, "s"))]),
        says(Outcome.PASS, "fine", figures={"age": Figure("old", "s")}),
        says(Outcome.PASS, "fine", figures={1: Figure(1.0, "s")}),
        says(Outcome.PASS, "fine", figures={"age": Figure(1.0, None)}),
        says(Outcome.PASS, "fine", entity="run-1"),
        says(Outcome.PASS, "fine", evidence="a line"),
        says(Outcome.PASS, "fine", evidence=(b"a line",)),
        says(Outcome.PASS, "fine", label=None),
        Verdict(outcome=Outcome.PASS, reason=7, summary="s"),
        Verdict(outcome=Outcome.PASS, reason=ReasonCode("fine"), summary=None),
    ],
)
def test_an_answer_that_is_no_verdict_is_unknown_check_error(nonsense):
    got = run_check(check(lambda _: nonsense), WORLD)
    assert (got.outcome, got.reason) == (Outcome.UNKNOWN, "check_error")


def test_every_outcome_the_runner_invents_is_about_the_worlds_subject():
    box = dataclasses.replace(WORLD, subject=BOX)
    assert run_check(check(raises(ValueError())), box).entity == BOX
