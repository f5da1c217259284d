"""A check that could not be proven cannot be constructed."""

import dataclasses

import pytest

from pfid.domain.errors import CheckDefinitionError, PortNotSetUpError
from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Verdict
from pfid.spec.check import Check, Hysteresis, Severity, Stage
from pfid.spec.control import Control
from pfid.spec.fakes import FixedClock
from pfid.spec.limits import configured, deciding_fields, limit, reported, shifts, units
from pfid.spec.reasons import RUNNER_REASONS
from pfid.spec.world import World
from pfid.wire.project_facts import FACTS
from pfid.wire.worlds import FACT_PORTS, PORTS

WORLD = World(clock=FixedClock())
REASONS = {"good": Outcome.PASS, "bad": Outcome.FAIL, "blind": Outcome.UNKNOWN}


def control(reason, outcome=None, name=None):
    expect = REASONS.get(reason, Outcome.PASS) if outcome is None else outcome
    return Control(name=name or reason, world=WORLD, expect=expect, reason=reason)


CONTROLS = tuple(control(r) for r in REASONS)


def make(**more):
    return Check(
        **{
            "name": "example",
            "stage": Stage.WATCH,
            "observe": lambda w: w,
            "judge": lambda *_: Verdict(
                outcome=Outcome.PASS, reason=ReasonCode("good"), summary=""
            ),
            "reasons": REASONS,
            "controls": lambda _: CONTROLS,
            "reads": ("clock",),
            "runbook": "Fail when wrong.",
            **more,
        }
    )


def test_a_sound_check_is_constructed():
    assert make().evaluate(WORLD).outcome is Outcome.PASS
    assert make().built_controls() == CONTROLS


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"name": "Bad Name"}, "check name"),
        ({"name": ""}, "check name"),
        ({"controls": lambda _: ()}, "no control expects FAIL"),
        ({"controls": lambda _: CONTROLS[:1]}, "no control expects"),
        ({"controls": lambda _: [c for c in CONTROLS if c.reason != "blind"]}, "expects UNKNOWN"),
        ({"controls": lambda _: [c for c in CONTROLS if c.reason != "good"]}, "expects PASS"),
        ({"controls": lambda _: (*CONTROLS, control("good"))}, "two controls are named 'good'"),
        ({"controls": lambda _: (*CONTROLS, control("new"))}, "'new', which is not declared"),
        (
            {"controls": lambda _: (*CONTROLS, control("bad", Outcome.PASS, "x"))},
            "does not belong to PASS",
        ),
        ({"reasons": {**REASONS, "never": Outcome.FAIL}}, "no control shows reason 'never'"),
        ({"reasons": {**REASONS, "Not A Code": Outcome.FAIL}}, "is no identifier"),
        ({"runbook": "  \n "}, "no runbook"),
        ({"reads": ()}, "reads nothing"),
        ({"limits": object()}, "limits must be a dataclass"),
        ({"cadence_s": 0.0}, "must be positive"),
        ({"deadline_s": -1.0}, "must be positive"),
        ({"milder": {"good": Severity.INFO}}, "'good' is none that fails"),
        ({"milder": {"never": Severity.INFO}}, "'never' is none that fails"),
        ({"milder": {"bad": Severity.CRITICAL}}, "is not milder than the check: critical"),
        ({"milder": {"bad": Severity.WARNING}}, "is not milder than the check: warning"),
        ({"milder": {"bad": Severity.INFO}}, "every reason that fails is a milder one"),
    ],
)
def test_a_check_that_could_not_be_proven_is_refused(more, said):
    with pytest.raises(CheckDefinitionError, match=said):
        make(**more)


@pytest.mark.parametrize("reason", sorted(RUNNER_REASONS))
def test_the_runners_own_reasons_cannot_be_declared(reason):
    with pytest.raises(CheckDefinitionError, match="belongs to the runner"):
        make(reasons={**REASONS, reason: Outcome.UNKNOWN})


@pytest.mark.parametrize(
    "rule",
    [
        {"fire_m": 0},
        {"fire_m": 3, "fire_n": 2},
        {"clear_k": 0},
        {"unknown_k": 0},
        {"floor_s": -1.0},
    ],
)
def test_a_hysteresis_that_cannot_fire_or_clear_is_refused(rule):
    with pytest.raises(CheckDefinitionError, match="hysteresis"):
        Hysteresis(**rule)


@dataclasses.dataclass(frozen=True)
class Limits:
    ratio: float = limit(3.0, unit="ratio", factor=1.5)
    count: int = limit(1, unit="steps", delta=1)


def test_every_limit_is_shifted_both_ways():
    assert [(s.mutant, s.value) for s in shifts(Limits())] == [
        ("limit:ratio:up", 4.5),
        ("limit:ratio:down", 2.0),
        ("limit:count:up", 2),
        ("limit:count:down", 0),
    ]
    assert units(Limits()) == {"ratio": "ratio", "count": "steps"}


@pytest.mark.parametrize(
    "shift",
    [
        {},
        {"factor": 0.0},
        {"factor": float("nan")},
        {"factor": 1.0},
        {"factor": 0.5},
        {"delta": 0},
        {"factor": 2.0, "delta": 1},
    ],
)
def test_a_limit_needs_a_shift_that_moves_it(shift):
    with pytest.raises(CheckDefinitionError):
        limit(1.0, unit="s", **shift)


@pytest.mark.parametrize("value", [0.0, float("inf")])
def test_a_value_its_shift_does_not_move_is_refused(value):
    with pytest.raises(CheckDefinitionError, match="does not move"):
        list(shifts(dataclasses.replace(Limits(), ratio=value)))


def test_a_field_that_is_no_limit_is_refused():
    @dataclasses.dataclass(frozen=True)
    class Bare:
        ratio: float = 3.0

    with pytest.raises(CheckDefinitionError, match=r"Bare\.ratio: declare it with limit"):
        make(limits=Bare())


def test_configuration_keeps_whole_numbers_whole():
    taken = configured(Limits(), {"ratio": 2, "count": 4.0})
    assert (taken.ratio, taken.count) == (2.0, 4)
    assert isinstance(taken.count, int)
    assert isinstance(taken.ratio, float)


def test_reported_fields_decide_nothing():
    @dataclasses.dataclass(frozen=True)
    class Seen:
        decides: int = 1
        shown: int = reported(default=2)

    assert deciding_fields(Seen()) == ("decides",)


@pytest.mark.parametrize("port", sorted(PORTS))
def test_a_port_nobody_set_up_raises_and_says_which(port):
    with pytest.raises(PortNotSetUpError, match=rf"world\.{port}\.anything"):
        getattr(World(), port).anything()


def test_every_port_of_the_world_can_travel():
    fields = {f.name for f in dataclasses.fields(World)} - {"subject"}
    assert fields == PORTS


def test_every_port_with_one_question_has_the_type_of_its_answer():
    assert set(FACTS) == FACT_PORTS
