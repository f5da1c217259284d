"""A daemon's proofs are made again by age and on change, and only then."""

import io
import time
from dataclasses import replace
from types import SimpleNamespace

import msgspec
import pytest

from pfid.adapters.own_log import OwnLog
from pfid.bootstrap.gates import Gates
from pfid.config.model import Config, Plugins
from pfid.daemon.due_times import DueTimes
from pfid.domain.gate import GateState
from pfid.policy.proof_age import LOOK_S, renewed_after_s

DAY_S = 86_400.0
AGE_S = Config().proof.age_days * DAY_S
RENEWED_S = renewed_after_s(AGE_S)
CHECK = '''
"""Fails when the log has several writers.

Blind spot: none, it is an example. When it fires: look.
"""

from dataclasses import dataclass

from pfid.spec import Check, Control, NoLimits, Outcome, Stage, Verdict, World, hookimpl
from pfid.spec.fakes import CONTROL_SUBJECT, FixedLog
from pfid.spec.ports.log import LogFacts


@dataclass(frozen=True)
class Seen:
    writers: int | None


def observe(world):
    facts = world.log.facts()
    return Seen(writers=None if facts is None else facts.writers)


def judge(seen, limits):
    if seen.writers is None:
        return Verdict(outcome=Outcome.UNKNOWN, reason="no_log", summary="no log")
    if seen.writers > 1:
        return Verdict(outcome=Outcome.FAIL, reason="crowded", summary="several writers")
    return Verdict(outcome=Outcome.PASS, reason="alone", summary="one writer")


def log(facts):
    return World(subject=CONTROL_SUBJECT, log=FixedLog(log_facts=facts))


def controls(limits):
    return (
        Control(name="one", world=log(LogFacts()), expect=Outcome.PASS, reason="alone"),
        Control(name="two", world=log(LogFacts(writers=2)), expect=Outcome.FAIL, reason="crowded"),
        Control(name="none", world=log(None), expect=Outcome.UNKNOWN, reason="no_log"),
    )


@hookimpl
def pfid_checks():
    yield Check(
        name="of_this_box",
        stage=Stage.WATCH,
        observe=observe,
        judge=judge,
        reasons={
            "alone": Outcome.PASS, "crowded": Outcome.FAIL, "no_log": Outcome.UNKNOWN,
        },
        controls=controls,
        limits=NoLimits(),
        reads=("log",),
        runbook=__doc__,
    )
'''


class Standing:
    """Gates over a file of proofs, and the part of a core that they write to."""

    def __init__(self, folder, config=None):
        self.file = folder / "proofs.json"
        self.gates = Gates(self.file, OwnLog(io.StringIO()))
        self.core = SimpleNamespace(
            config=config or Config(),
            box={},
            runs={},
            gpus=SimpleNamespace(gpus={}),
            due=DueTimes(),
            now_s=time.time,
            monotonic_s=time.monotonic,
            snapshot_stale=False,
        )
        self.core.checks = self.gates.prove(self.core.config)

    def age(self, age_s):
        """Every proof was made so long ago, on disk and in memory."""
        then_s = time.time() - age_s
        body = msgspec.json.decode(self.file.read_bytes())
        for gate in body["gates"]:
            gate["proven_at_s"] = then_s
        self.file.write_bytes(msgspec.json.encode(body))
        old = tuple(replace(g, proven_at_s=then_s) for g in self.core.checks.gates)
        self.core.checks = replace(self.core.checks, gates=old)
        return then_s

    def look(self):
        """The daemon's regular look at its proofs."""
        self.gates.again(self.core, everything=False)
        return self.core.checks.gates


@pytest.fixture
def standing(tmp_path):
    made = Standing(tmp_path)
    yield made
    made.gates.close()


def test_a_proof_that_is_young_enough_is_left_alone(standing):
    then_s = standing.age(RENEWED_S - 60)
    assert {gate.proven_at_s for gate in standing.look()} == {then_s}


def test_a_proof_that_is_too_old_is_made_again(standing):
    then_s = standing.age(AGE_S + 60)
    again = standing.look()
    assert {gate.state for gate in again} == {GateState.PROVEN}
    assert min(gate.proven_at_s for gate in again) > then_s + AGE_S


@pytest.mark.parametrize("age_days", [7.0, 30.0, 0.02])
def test_the_check_of_proofs_never_sees_one_that_is_older_than_it_allows(tmp_path, age_days):
    config = msgspec.convert({"proof": {"age_days": age_days}}, Config)
    made = Standing(tmp_path, config)
    judged = next(check for check in made.core.checks.box if check.name == "gate_proof_stale")
    assert judged.limits.age_s == age_days * DAY_S
    before_s = renewed_after_s(judged.limits.age_s)
    then_s = made.age(before_s - 1)
    assert {gate.proven_at_s for gate in made.look()} == {then_s}
    made.age(before_s + 1)
    assert before_s + LOOK_S < judged.limits.age_s
    assert min(gate.proven_at_s for gate in made.look()) > time.time() - 600
    made.gates.close()


def test_a_restart_does_not_recall_a_proof_that_will_soon_be_too_old(standing, tmp_path):
    then_s = standing.age(AGE_S - 40)
    again = Standing(tmp_path)
    assert min(gate.proven_at_s for gate in again.core.checks.gates) > then_s + DAY_S


def test_an_age_that_is_configured_for_the_check_itself_is_kept(tmp_path):
    table = {"checks": {"gate_proof_stale": {"limits": {"age_s": 60.0}}}}
    made = Standing(tmp_path, msgspec.convert(table, Config))
    judged = next(check for check in made.core.checks.box if check.name == "gate_proof_stale")
    assert judged.limits.age_s == 60.0


def test_a_proof_from_the_future_is_made_again(standing):
    then_s = standing.age(-DAY_S)
    assert max(gate.proven_at_s for gate in standing.look()) < then_s


def test_the_check_of_proofs_is_due_after_every_look(standing):
    standing.look()
    assert standing.core.snapshot_stale
    assert standing.core.due.next_s() is not None


def test_a_restart_recalls_proofs_and_a_changed_limit_does_not(standing, tmp_path):
    then_s = standing.age(DAY_S)
    again = Standing(tmp_path)
    assert {gate.proven_at_s for gate in again.core.checks.gates} == {then_s}
    config = msgspec.convert({"checks": {"run_stalled": {"limits": {"train_s": 700.0}}}}, Config)
    changed = {gate.check: gate for gate in again.gates.prove(config).gates}
    assert changed["run_stalled"].proven_at_s > then_s
    assert changed["run_gone"].proven_at_s == then_s


def test_a_plugin_that_changes_is_proven_again_and_let_down_if_it_broke(tmp_path):
    folder = tmp_path / "plugins"
    folder.mkdir()
    file = folder / "of_this_box.py"
    file.write_text(CHECK)
    made = Standing(tmp_path, Config(plugins=Plugins(directories=[str(folder)])))
    try:
        gate = next(g for g in made.core.checks.gates if g.check == "of_this_box")
        assert (gate.state, gate.why) == (GateState.PROVEN, "")
        file.write_text(CHECK.replace("seen.writers > 1", "seen.writers > 7"))
        gate = next(g for g in made.look() if g.check == "of_this_box")
        assert gate.state is GateState.UNPROVEN
        assert "two" in gate.why
    finally:
        made.gates.close()


def test_what_a_check_said_goes_with_the_check_that_cannot_be_loaded_any_more(tmp_path):
    folder = tmp_path / "plugins"
    folder.mkdir()
    file = folder / "of_this_box.py"
    file.write_text(CHECK)
    made = Standing(tmp_path, Config(plugins=Plugins(directories=[str(folder)])))
    try:
        names = {check.name for check in made.core.checks.run}
        run = SimpleNamespace(judged=dict.fromkeys(names, "said"))
        made.core.runs["n-1"] = run
        assert "of_this_box" in names
        file.write_text("import no_such_module_of_this_box\n")
        gate = next(g for g in made.look() if g.check == "of_this_box")
        assert gate.state is GateState.UNPROVEN
        assert run.judged.keys() == names - {"of_this_box"}
    finally:
        made.gates.close()


def test_when_a_leg_was_walked_is_kept_through_a_proof_and_never_made_up(standing, tmp_path):
    names = {gate.check: True for gate in standing.core.checks.gates}
    then_s = time.time() - DAY_S
    standing.gates.enter(standing.core, "live", names, then_s)
    assert standing.core.checks.legs["live"] == then_s
    standing.gates.again(standing.core, everything=True)
    assert standing.core.checks.legs["live"] == then_s
    assert all(gate.proven_to.live for gate in standing.core.checks.gates)
    restarted = Standing(tmp_path)
    restarted.gates.again(restarted.core, everything=True)
    assert all(gate.proven_to.live for gate in restarted.core.checks.gates)
    assert "live" not in restarted.core.checks.legs


def test_alerts_count_where_the_proof_has_the_key_they_were_tried_with(standing):
    tried, other = standing.core.checks.gates[:2]
    standing.gates.alerts(standing.core, {tried.key: True, "0" * 64: True})
    came = {gate.check: gate.proven_to.alerts for gate in standing.core.checks.gates}
    assert (came[tried.check], came[other.check]) == (True, None)
