"""Plugins that take memory: ended at their limit, told, and given back when they are refused."""

import queue

import pytest

from pfid.adapters.page import Page
from pfid.adapters.worker_size import held_bytes
from pfid.bootstrap.far_end import far_end
from pfid.bootstrap.plugin_worker import Keeping, PluginWorker
from pfid.domain.gate import GateState
from pfid.domain.outcome import Outcome
from pfid.host.foreign import foreign_plugins
from pfid.policy.worker_life import LifeRules
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog
from pfid.spec.ports.log import LogFacts
from pfid.spec.world import World

RULES = LifeRules(start_deadline_s=10.0, deadline_s=5.0, term_grace_s=0.2, backoff_first_s=0.05)
MIB = 1024 * 1024
LIMIT_BYTES = 150 * MIB
EAT = "__import__('builtins').held = bytearray(b'x') * (300 * 1024 * 1024); import time; {then}"
CHECK = '''
"""Fails when several write. Blind spot: none, an example. When it fires: look."""

from dataclasses import dataclass

from pfid.spec import Answers, Check, Control, NoLimits, Outcome, Stage, World, hookimpl
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog
from pfid.spec.ports.log import LogFacts

ANSWERS = Answers(
    {{
        "alone": (Outcome.PASS, "one writer"),
        "crowded": (Outcome.FAIL, "several writers"),
        "no_log": (Outcome.UNKNOWN, "no log"),
    }}
)
{at_import}


@dataclass(frozen=True)
class Seen:
    writers: int | None


def observe(world):
    facts = world.log.facts()
    return Seen(writers=None if facts is None else facts.writers)


def judge(seen, limits):
    {in_judge}
    if seen.writers is None:
        return ANSWERS.say("no_log")
    return ANSWERS.say("crowded" if seen.writers > 1 else "alone")


def controls(limits):
    def control(name, code, facts):
        world = World(subject=CONTROL_SUBJECT, log=FixedLog(log_facts=facts))
        return Control(name=name, world=world, expect=ANSWERS.reasons[code], reason=code)

    return (
        control("one", "alone", LogFacts()),
        control("two", "crowded", LogFacts(writers=2)),
        control("none", "no_log", None),
    )


@hookimpl
def pfid_checks():
    yield Check(
        name="{name}",
        stage=Stage.WATCH,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=NoLimits(),
        reads=("log",),
        runbook=__doc__,
    )
'''


def check(name, in_judge="pass", at_import=""):
    return CHECK.format(name=name, in_judge=in_judge, at_import=at_import)


class Told:
    """What was told of a worker, and the worker itself."""

    def __init__(self, folder, limit_bytes=LIMIT_BYTES):
        self.ends = []
        self.faults = []
        sources, refused = foreign_plugins([str(folder)], with_entry_points=False)
        assert not refused
        self.worker = PluginWorker(
            sources,
            limits={},
            taken=frozenset(),
            far_end=far_end(Page(synthetic=True).render),
            rules=RULES,
            keeping=Keeping(
                memory_max_bytes=limit_bytes,
                fault=lambda plugin, what: self.faults.append((plugin, what)),
                ended=lambda end, plugin: self.ends.append((end.cause.value, plugin)),
            ),
        )

    @property
    def pid(self):
        process = self.worker._owner._process
        return None if process is None else process.pid

    def evaluated(self, name):
        answers = queue.SimpleQueue()
        world = World(subject=CONTROL_SUBJECT, log=FixedLog(log_facts=LogFacts(writers=2)))
        self.worker.host.evaluate_async(name, world, lambda *answer: answers.put(answer))
        return answers.get(timeout=30)[0].outcome


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "plugins"
    folder.mkdir(mode=0o755)
    running = []

    def start(limit_bytes=LIMIT_BYTES, **files):
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)
            (folder / f"{name}.py").chmod(0o644)
        told = Told(folder, limit_bytes)
        running.append(told.worker)
        told.worker.start()
        assert told.worker.host.wait_settled(60.0)
        return told

    yield start
    for worker in running:
        worker.close()


def states(told):
    return {g.check: g.state for g in told.worker.host.gates}


def test_a_plugin_that_takes_too_much_while_it_is_loaded_is_named_and_the_others_run(run):
    eats = EAT.format(then="time.sleep(60)")
    told = run(sound=check("sound"), eats=check("eats", at_import=eats))
    assert told.ends == [("outgrown", "eats")]
    assert states(told) == {"sound": GateState.PROVEN}
    (problem,) = told.worker.host.problems
    assert (problem.plugin, problem.what) == (
        "eats",
        "took more memory than it may while it was loaded",
    )
    assert ("eats", problem.what) in told.faults
    assert told.evaluated("sound") is Outcome.FAIL


def test_a_check_that_takes_too_much_is_unproven_and_the_others_run(run):
    eats = EAT.format(then="time.sleep(60)")
    told = run(sound=check("sound"), eats=check("eats", in_judge=eats))
    assert told.ends == [("outgrown", "eats")]
    assert states(told) == {"sound": GateState.PROVEN, "eats": GateState.UNPROVEN}
    (gate,) = [g for g in told.worker.host.gates if g.check == "eats"]
    assert "took more memory than it may in a control" in gate.why


def test_without_a_limit_the_same_plugin_is_let_be(run):
    told = run(limit_bytes=None, eats=check("eats", at_import=EAT.format(then="pass")))
    assert told.ends == []
    assert states(told) == {"eats": GateState.PROVEN}
    assert held_bytes(told.pid) > 300 * MIB, "the fault was delivered"


def test_what_a_refused_plugin_loaded_is_given_back_and_the_others_go_on(run):
    wrong = check("wrong", at_import=EAT.format(then="pass"), in_judge="raise RuntimeError('no')")
    told = run(limit_bytes=None, sound=check("sound"), wrong=wrong)
    before = told.pid
    assert held_bytes(before) > 300 * MIB, "the fault was delivered"
    assert states(told) == {"sound": GateState.PROVEN, "wrong": GateState.UNPROVEN}
    told.worker.let_go()
    while told.evaluated("sound") is not Outcome.FAIL:
        pass  # the fresh worker is on its way
    assert told.pid != before
    assert held_bytes(told.pid) < LIMIT_BYTES
    assert told.evaluated("wrong") is Outcome.UNKNOWN
    assert told.ends == []


def test_where_every_plugin_is_refused_no_worker_is_left(run):
    told = run(wrong="raise RuntimeError('no')\n")
    before = told.pid
    assert held_bytes(before) > 0
    told.worker.let_go()
    assert told.pid is None
    assert not told.worker._owner._thread.is_alive(), "nothing will be started either"
    assert held_bytes(before) == 0
    assert told.faults == [("wrong", "cannot be loaded: RuntimeError: no")]


def test_where_all_are_proven_the_worker_stays(run):
    told = run(sound=check("sound"))
    before = told.pid
    told.worker.let_go()
    assert told.pid == before
    assert told.evaluated("sound") is Outcome.FAIL
