"""Proving again replaces the plugin worker; the checks in it go on being evaluated."""

import io
import os
import signal
from queue import SimpleQueue

import pytest

from pfid.adapters.own_log import OwnLog
from pfid.bootstrap.gates import Gates
from pfid.config.model import Config, Plugins
from pfid.daemon.messages import PluginFault
from pfid.domain.gate import GateState
from pfid.domain.outcome import Outcome
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog
from pfid.spec.ports.log import LogFacts
from pfid.spec.world import World

CHECK = '''
"""Fails when several write. Blind spot: none, an example. When it fires: look."""

from dataclasses import dataclass

from pfid.spec import Answers, Check, Control, NoLimits, Outcome, Stage, World, hookimpl
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog
from pfid.spec.ports.log import LogFacts

ANSWERS = Answers(
    {
        "alone": (Outcome.PASS, "one writer"),
        "crowded": (Outcome.FAIL, "several writers"),
        "no_log": (Outcome.UNKNOWN, "no log"),
    }
)


@dataclass(frozen=True)
class Seen:
    writers: int | None


def observe(world):
    facts = world.log.facts()
    return Seen(writers=None if facts is None else facts.writers)


def judge(seen, limits):
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
        name="one_writer",
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


@pytest.fixture
def config(tmp_path):
    folder = tmp_path / "plugins"
    folder.mkdir(mode=0o755)
    (folder / "one_writer.py").write_text(CHECK)
    (folder / "one_writer.py").chmod(0o644)
    return Config(plugins=Plugins(directories=[str(folder)]))


@pytest.fixture
def gates(tmp_path):
    made = Gates(tmp_path / "proofs.json", OwnLog(io.StringIO()))
    yield made
    made.close()


def _asked(joint, heard):
    world = World(subject=CONTROL_SUBJECT, log=FixedLog(log_facts=LogFacts(writers=2)))
    joint.ask("one_writer", CONTROL_SUBJECT.id, world)
    verdict = heard.get(timeout=30).verdict
    return verdict.outcome, verdict.reason


def test_a_plugins_check_is_evaluated_after_every_proving(gates, config):
    heard = SimpleQueue()
    joint = gates.plugins(heard.put)
    gates.prove(Config())  # a configuration without plugins; the next one brings them
    for _ in range(3):
        gates.prove(config)
        assert _asked(joint, heard) == (Outcome.FAIL, "crowded")


def test_the_proof_of_a_plugins_check_has_a_time_and_so_does_not_count_as_old(gates, config):
    checks = gates.prove(config)
    (gate,) = [g for g in checks.gates if g.check == "one_writer"]
    assert gate.state is GateState.PROVEN
    assert gate.proven_at_s is not None


def test_a_check_that_cannot_be_loaded_again_is_answered_for_and_holds_nobody_up(
    gates, config, tmp_path
):
    heard = SimpleQueue()
    joint = gates.plugins(heard.put)
    gates.prove(config)
    (tmp_path / "plugins" / "one_writer.py").write_text("raise RuntimeError('half a copy')\n")
    os.kill(gates._worker._owner._process.pid, signal.SIGKILL)
    world = World(subject=CONTROL_SUBJECT, log=FixedLog(log_facts=LogFacts(writers=2)))
    came = []
    for _ in range(3):
        joint.ask("one_writer", CONTROL_SUBJECT.id, world)
        came.append(heard.get(timeout=60))
    assert came[-1].verdict.outcome is Outcome.UNKNOWN
    assert "could not be loaded again" in came[-1].error


def test_a_plugin_file_that_was_changed_is_noticed(gates, config, tmp_path):
    gates.prove(config)
    assert not gates._any_changed()
    file = tmp_path / "plugins" / "one_writer.py"
    file.write_text(file.read_text() + "# changed\n")
    assert gates._any_changed()


def test_the_daemon_is_told_of_a_refused_plugin_and_keeps_no_process_for_it(tmp_path):
    folder = tmp_path / "plugins"
    folder.mkdir(mode=0o755)
    (folder / "wrong.py").write_text("raise RuntimeError('no')\n")
    (folder / "wrong.py").chmod(0o644)
    told = SimpleQueue()
    gates = Gates(tmp_path / "proofs.json", OwnLog(io.StringIO()), told.put)
    gates.prove(Config(plugins=Plugins(directories=[str(folder)])))
    assert told.get(timeout=10) == PluginFault(
        plugin="wrong", hook="pfid_checks", what="cannot be loaded: RuntimeError: no"
    )
    assert gates._worker is not None
    assert gates._worker._owner._process is None
    gates.close()
