"""The host's side of the plugin worker, with a worker that answers as the test wants."""

import msgspec
import pytest

from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.names import CheckName, ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import BOX, Verdict
from pfid.host.plugins import PluginKind, PluginSource
from pfid.host.registry import Where, discover
from pfid.host.remote import PluginHost
from pfid.host.roster import STRIKES
from pfid.host.turns import WAIT_MAX_S
from pfid.policy.control_drive import Shown as SeenOnPage
from pfid.policy.hysteresis import Settling
from pfid.spec.check import Stage
from pfid.spec.fakes import FixedLog
from pfid.spec.world import World
from pfid.wire.plugins import (
    Evaluate,
    Evaluated,
    Load,
    Loaded,
    Prove,
    Proved,
    Show,
    Shown,
    check_info,
    decode_order,
    encode,
)

REAL = discover(Where(stages=(Stage.WATCH,), entry_points=False)).named("log_is_one_run").check
WORLD = World(subject=BOX, log=FixedLog())
SOURCES = [
    PluginSource(name=n, kind=PluginKind.FILE, place=f"/plugins/{n}.py") for n in ("one", "two")
]
FINE = Verdict(outcome=Outcome.PASS, reason=ReasonCode("one_run"), summary="", entity=BOX)


def info(name):
    return msgspec.structs.replace(check_info(REAL), name=name, reads=("log",))


def gate(name, state=GateState.PROVEN):
    return Gate(
        check=CheckName(name), stage="watch", state=state, proven_to=ProvenTo(controls=True)
    )


class Bed:
    """A host, a clock that stands still, and every order it sent."""

    def __init__(self, taken=frozenset()):
        self.now_s = 100.0
        self.orders = []
        self.done = []
        self.host = PluginHost(
            SOURCES,
            limits={},
            taken=taken,
            far_end=lambda *_: SeenOnPage(outcome=Outcome.FAIL, reasons=("r",)),
            monotonic_s=lambda: self.now_s,
        )
        self.host.bind(self.post)
        self.generation = 0

    def post(self, body, *, generation):
        if generation != self.generation:
            return False
        self.orders.append(decode_order(body))
        return True

    def start(self):
        self.generation += 1
        self.host.worker_started(self.generation)

    def say(self, report):
        self.host.worker_said(self.generation, encode(report))

    def end(self, touching, cause="timed_out"):
        generation, self.generation = self.generation, 0
        self.host.worker_ended(generation, touching, cause)
        self.generation = generation

    def ready(self):
        self.start()
        for number, name in enumerate(("one", "two")):
            self.say(Loaded(plugin=number, checks=(info(f"check_{name}"),)))
        for name in ("check_one", "check_two"):
            self.say(Proved(gate=gate(name)))
        assert self.host.settled
        return self

    def restart(self, numbers=(0, 1)):
        self.start()
        for number in numbers:
            self.say(Loaded(plugin=number))

    def ask(self, check="check_one"):
        self.host.evaluate_async(check, WORLD, lambda v, e: self.done.append((v.reason, e)))

    def sent(self, kind):
        return [o for o in self.orders if isinstance(o, kind)]


def test_every_plugin_is_loaded_then_every_check_proven_one_at_a_time():
    bed = Bed()
    bed.start()
    assert [o.name for o in bed.sent(Load)] == ["one", "two"]
    bed.say(Loaded(plugin=0, checks=(info("check_one"),)))
    assert bed.sent(Prove) == []
    bed.say(Loaded(plugin=1, checks=(info("check_two"),)))
    assert [o.check for o in bed.sent(Prove)] == ["check_one"]
    bed.say(Proved(gate=gate("check_one")))
    assert [o.check for o in bed.sent(Prove)] == ["check_one", "check_two"]
    assert not bed.host.settled
    bed.say(Proved(gate=gate("check_two", GateState.UNPROVEN)))
    assert bed.host.settled
    assert [g.state for g in bed.host.gates] == [GateState.PROVEN, GateState.UNPROVEN]


def test_a_verdict_comes_back_to_whoever_asked():
    bed = Bed().ready()
    bed.ask("check_one")
    bed.ask("check_two")
    (first,) = bed.sent(Evaluate)
    bed.say(Evaluated(id=first.id, verdict=FINE, error="x"))
    _, second = bed.sent(Evaluate)
    bed.say(Evaluated(id=first.id, verdict=FINE))
    bed.say(Evaluated(id=second.id, verdict=FINE))
    assert bed.done == [("one_run", "x"), ("one_run", "")]


@pytest.mark.parametrize("check", ["check_nobody_has", "check_two"])
def test_a_check_that_is_not_proven_is_not_run(check):
    bed = Bed()
    bed.start()
    bed.say(Loaded(plugin=0, checks=(info("check_one"),)))
    bed.say(Loaded(plugin=1, checks=(info("check_two"),)))
    bed.ask(check)
    assert bed.sent(Evaluate) == []
    assert bed.done[0][0] == "unproven"


def test_past_its_deadline_a_check_is_answered_for_once():
    bed = Bed().ready()
    bed.ask()
    bed.now_s += REAL.deadline_s - 0.01
    bed.host.expire()
    assert bed.done == []
    bed.now_s += 0.02
    bed.host.expire()
    bed.say(Evaluated(id=bed.sent(Evaluate)[0].id, verdict=FINE))
    assert [reason for reason, _ in bed.done] == ["timed_out"]


def test_a_check_that_hangs_takes_nothing_from_the_deadline_of_the_one_behind_it():
    bed = Bed().ready()
    bed.ask("check_one")
    bed.ask("check_two")
    bed.now_s += REAL.deadline_s + 1
    bed.host.expire()
    assert [reason for reason, _ in bed.done] == ["timed_out"]
    bed.end(touching=0)
    bed.restart()
    bed.now_s += REAL.deadline_s - 0.1
    bed.host.expire()
    assert len(bed.done) == 1
    bed.say(Evaluated(id=bed.sent(Evaluate)[-1].id, verdict=FINE))
    assert [reason for reason, _ in bed.done] == ["timed_out", "one_run"]


def test_an_answer_that_comes_late_ends_the_turn_and_is_not_taken():
    bed = Bed().ready()
    bed.ask("check_one")
    bed.ask("check_two")
    bed.now_s += REAL.deadline_s + 1
    bed.host.expire()
    bed.say(Evaluated(id=bed.sent(Evaluate)[0].id, verdict=FINE))
    assert [o.check for o in bed.sent(Evaluate)] == ["check_one", "check_two"]
    assert [reason for reason, _ in bed.done] == ["timed_out"]


def test_when_the_worker_dies_the_one_it_ran_is_answered_for_and_the_next_worker_has_the_others():
    bed = Bed().ready()
    bed.ask("check_one")
    bed.ask("check_two")
    bed.end(touching=0)
    assert [reason for reason, _ in bed.done] == ["timed_out"]
    bed.start()
    assert len(bed.sent(Evaluate)) == 1
    bed.say(Loaded(plugin=0, checks=(info("check_one"),)))
    assert len(bed.sent(Evaluate)) == 1
    bed.say(Loaded(plugin=1, checks=(info("check_two"),)))
    assert [o.check for o in bed.sent(Evaluate)] == ["check_one", "check_two"]


def test_a_question_that_no_worker_takes_is_asked_of_the_next():
    bed = Bed().ready()
    bed.generation += 1  # the worker has ended, and the host has not been told
    bed.ask()
    assert bed.sent(Evaluate) == []
    bed.restart()
    assert [o.check for o in bed.sent(Evaluate)] == ["check_one"]


def test_where_no_worker_comes_there_is_an_answer_all_the_same():
    bed = Bed().ready()
    bed.end(touching=None, cause="crashed")
    bed.ask()
    bed.now_s += WAIT_MAX_S - 0.1
    bed.host.expire()
    assert bed.done == []
    bed.now_s += 0.2
    bed.host.expire()
    assert [(reason, "not free" in why) for reason, why in bed.done] == [("timed_out", True)]


def test_one_whose_plugin_was_held_back_while_it_waited_is_not_run():
    bed = Bed().ready()
    for _ in range(STRIKES - 1):
        bed.end(touching=0)
        bed.restart()
    bed.ask("check_two")
    bed.ask("check_one")
    bed.end(touching=0)
    bed.restart(numbers=(1,))
    assert [o.check for o in bed.sent(Evaluate)] == ["check_two"]
    assert [reason for reason, _ in bed.done] == ["timed_out", "unproven"]


def test_after_a_restart_the_same_plugins_are_loaded_and_stay_proven():
    bed = Bed().ready()
    bed.end(touching=0)
    bed.orders.clear()
    bed.start()
    assert [o.name for o in bed.sent(Load)] == ["one", "two"]
    bed.say(Loaded(plugin=0, checks=(info("check_one"),)))
    assert [g.state for g in bed.host.gates] == [GateState.PROVEN] * 2
    assert bed.host.problems == ()


def test_a_plugin_that_ends_the_worker_too_often_is_held_back_and_named():
    bed = Bed().ready()
    for _ in range(STRIKES):
        assert bed.host.gates[0].state is GateState.PROVEN
        bed.end(touching=0)
        bed.start()
    first, second = bed.host.gates
    assert first.state is GateState.UNPROVEN
    assert "hung in 3 evaluations" in first.why
    assert second.state is GateState.PROVEN
    bed.orders.clear()
    bed.start()
    assert [o.name for o in bed.sent(Load)] == ["two"]


def test_a_plugin_that_hangs_while_loading_is_out_at_once():
    bed = Bed()
    bed.start()
    bed.end(touching=1)
    (problem,) = bed.host.problems
    assert (problem.plugin, problem.what) == ("two", "hung while it was loaded")


def test_a_check_that_hangs_under_proof_is_out_at_once():
    bed = Bed()
    bed.start()
    bed.say(Loaded(plugin=0, checks=(info("check_one"),)))
    bed.say(Loaded(plugin=1, checks=(info("check_two"),)))
    bed.end(touching=0)
    assert "hung in a control or in sabotage of check_one" in bed.host.gates[0].why
    bed.start()
    bed.say(Loaded(plugin=1, checks=(info("check_two"),)))
    bed.say(Proved(gate=gate("check_two")))
    assert bed.host.settled


def test_names_that_are_taken_are_refused():
    bed = Bed(taken=frozenset({"check_one"}))
    bed.start()
    bed.say(Loaded(plugin=0, checks=(info("check_one"),)))
    bed.say(Loaded(plugin=1, checks=(info("check_two"), info("check_two"))))
    assert [c.name for c in bed.host.checks] == ["check_two"]
    assert [p.plugin for p in bed.host.problems] == ["one", "two"]


def test_a_worker_that_was_replaced_is_not_listened_to():
    bed = Bed().ready()
    bed.ask()
    bed.host.worker_said(99, encode(Evaluated(id=1, verdict=FINE)))
    assert bed.done == []


def test_a_gate_nobody_asked_for_is_not_believed():
    bed = Bed()
    bed.start()
    bed.say(Loaded(plugin=0, checks=(info("check_one"),)))
    bed.say(Proved(gate=gate("check_one")))
    assert bed.host.gates[0].state is GateState.UNPROVEN


def show(check="check_one"):
    return Show(check=check, settling=Settling(settled=FINE), entity=BOX, wall_s=1.0)


def test_a_settled_verdict_is_read_back_from_the_page_for_the_worker():
    bed = Bed().ready()
    bed.say(show())
    assert bed.sent(Shown) == [Shown(outcome=Outcome.FAIL, reasons=("r",))]
    bed.say(show("check_nobody_has"))
    assert bed.sent(Shown)[1] == Shown()


def test_a_page_that_breaks_is_said_to_the_worker():
    bed = Bed().ready()

    def breaks(*_):
        raise RuntimeError("no page")

    bed.host._far_end = breaks
    bed.say(show())
    assert bed.sent(Shown) == [Shown(error="RuntimeError: no page")]
