"""The live leg covers every adapter that watch checks read, and cannot pass without a fault."""

import dataclasses
import os
import socket

import pytest

from pfid.bootstrap.live import drills as drill_table
from pfid.bootstrap.live.canary import CannotPlantError, NotDeliveredError
from pfid.bootstrap.live.drills import DRILLS, SCRATCH_LIMITS, Drill
from pfid.bootstrap.live.ground import Legs
from pfid.bootstrap.live.memory_limit import MemoryLimit
from pfid.bootstrap.live.planted_gpus import CARDS, PlantedGpus, stand_in, with_stand_in
from pfid.bootstrap.live.ports import (
    DAEMON_ADAPTERS,
    NO_EVIDENCE,
    PLUGIN_PORTS,
    PORT_ADAPTERS,
    UNDRILLED_STAGES,
)
from pfid.bootstrap.live.project_drills import PROJECT_DRILLS, UNDRILLED
from pfid.bootstrap.live.session import DrillResult, run_drills, with_live
from pfid.bootstrap.selftest import Bench, selftest
from pfid.config.model import CheckOptions, Config
from pfid.daemon.ports import Ports
from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.names import CheckName
from pfid.domain.outcome import Outcome
from pfid.formats.log_stream import LogParser
from pfid.host.registry import Where, discover
from pfid.spec.check import Stage
from pfid.spec.ports.log import Marker
from pfid.spec.world import World

WATCH = [r.check for r in discover(Where(stages=(Stage.WATCH,), entry_points=False)).checks]


def test_every_port_that_a_watch_check_reads_has_its_adapters_named():
    assert set(PORT_ADAPTERS) == {port for check in WATCH for port in check.reads}


EVERY = {
    stage: [r.check for r in discover(Where(stages=(stage,), entry_points=False)).checks]
    for stage in Stage
}
PORTS = [field.name for field in dataclasses.fields(World) if field.name != "subject"]


@pytest.mark.parametrize("port", PORTS)
def test_every_port_of_a_world_is_driven_or_says_why_not(port):
    readers = [(stage, c.name) for stage, found in EVERY.items() for c in found if port in c.reads]
    assert readers or port in PLUGIN_PORTS, "no check reads it: what is it for?"
    if not readers:
        assert PLUGIN_PORTS[port] in set().union(*(d.adapters for d in PROJECT_DRILLS))
    drilled = {d.check for d in PROJECT_DRILLS} | UNDRILLED.keys()
    for stage, check in readers:
        if stage is Stage.WATCH:
            assert PORT_ADAPTERS[port] <= set().union(*(d.adapters for d in DRILLS))
        elif stage.value not in UNDRILLED_STAGES:
            assert check in drilled, f"{check} reads {port}: drill it, or say why not"


def test_every_port_of_the_daemon_is_an_adapter_that_is_driven_or_no_evidence():
    ports = {field.name for field in dataclasses.fields(Ports)}
    assert ports == DAEMON_ADAPTERS.keys() | NO_EVIDENCE.keys()
    assert not DAEMON_ADAPTERS.keys() & NO_EVIDENCE.keys()
    behind = set().union(*PORT_ADAPTERS.values())
    assert set(DAEMON_ADAPTERS.values()) <= behind
    assert behind <= set().union(*(d.adapters for d in DRILLS))


@pytest.mark.parametrize("check", WATCH, ids=lambda c: c.name)
def test_every_watch_check_has_a_drill(check):
    assert [d.name for d in DRILLS if d.check == check.name], f"add a live drill for {check.name}"


@pytest.mark.parametrize("check", WATCH, ids=lambda c: c.name)
def test_every_adapter_behind_the_ports_it_reads_is_really_driven(check):
    needed = set().union(*(PORT_ADAPTERS[port] for port in check.reads))
    driven = set().union(*(d.adapters for d in DRILLS))
    assert needed <= driven


def test_drills_speak_of_checks_and_reasons_that_exist():
    known = {c.name: c for c in WATCH}
    assert {d.check for d in DRILLS} <= set(known)
    assert len({d.name for d in DRILLS}) == len(DRILLS)


def test_every_check_stays_proven_under_the_scratch_daemons_limits():
    checks = {n: CheckOptions(limits=dict(v)) for n, v in SCRATCH_LIMITS.items()}
    standing = selftest(Bench(config=Config(checks=checks)), (Stage.WATCH,))
    assert [g.why for g in standing.unproven] == []


def test_the_planted_text_is_what_the_reader_knows():
    parser = LogParser()
    events = parser.feed("\n".join([*drill_table._iterations(range(5), 1.0), ""]).encode(), 1.0)
    assert [e.seconds for e in events] == [1.0] * 5
    parser.feed(f"{drill_table.RECOMPILE_LINE}\n{drill_table.DEAD_RUN}".encode(), 1.0)
    assert {Marker.RECOMPILE_LIMIT, Marker.TRACEBACK} <= set(parser.facts().markers)


def walk_nothing(_ground):
    return None


def drill(walk, **more):
    return Drill(name="d", check="run_gone", adapters=frozenset({"pidfd"}), walk=walk, **more)


@pytest.fixture
def listener(tmp_path):
    """Something that can be connected to, so that a drill gets as far as its own legs."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen(8)
        yield tmp_path / "s"


def walked(walk, listener, page_url="http://127.0.0.1:9/metrics", **more):
    (result,) = run_drills(listener, page_url, scratch=False, drills=[drill(walk, **more)])
    return result


def test_a_drill_that_walks_no_legs_has_shown_nothing(listener):
    result = walked(walk_nothing, listener)
    assert result.ok is False
    assert "walked nothing" in result.why


def test_a_fault_that_was_not_delivered_fails_the_drill(listener):
    def undelivered(_):
        raise NotDeliveredError("the canary was not killed")

    result = walked(undelivered, listener)
    assert (result.ok, result.why) == (False, "the canary was not killed")


@pytest.mark.parametrize(
    "outcomes", [[], [Outcome.PASS], [Outcome.PASS, Outcome.FAIL], [Outcome.PASS] * 3]
)
def test_only_good_bad_good_is_complete(outcomes):
    assert not Legs(outcomes=outcomes).complete
    assert Legs(outcomes=[Outcome.PASS, Outcome.FAIL, Outcome.PASS]).complete


def test_a_fault_that_cannot_be_planted_here_is_not_tried_and_shows_nothing(listener):
    def cannot(_):
        raise CannotPlantError("no memory controller is to be had here")

    result = walked(cannot, listener)
    assert (result.ok, result.why) == (None, "no memory controller is to be had here")


def test_a_kill_for_memory_that_the_kernel_does_not_count_is_no_fault(tmp_path):
    counts = tmp_path / "memory.events"
    limit = MemoryLimit(tmp_path, counts.name)
    for nothing in ("oom_kill 0\n", "oom 1\n"):
        counts.write_text(nothing)
        with pytest.raises(NotDeliveredError):
            limit.seen()
    counts.write_text("oom 3\noom_kill 1\n")
    limit.seen()


def test_a_daemon_in_use_is_not_spoilt(listener):
    result = walked(walk_nothing, listener, scratch_only=True)
    assert result.ok is None
    assert "in use" in result.why


def test_on_real_gpus_nothing_is_planted_and_that_is_said(listener, monkeypatch):
    monkeypatch.delenv("PFID_NVML_SHIM", raising=False)
    result = walked(walk_nothing, listener, planted_gpus=True)
    assert result.ok is None
    assert "PFID_NVML_SHIM" in result.why
    (gate_of_a_gpu,) = with_live([gate("run_gone")], [result])
    assert gate_of_a_gpu.proven_to.live is None


def test_a_drill_that_harms_the_others_comes_after_them(listener):
    order = []
    drills = [
        drill(lambda _: order.append("last"), last=True),
        *(drill(lambda _, n=n: order.append(n)) for n in range(3)),
    ]
    run_drills(listener, "http://127.0.0.1:9/metrics", scratch=False, drills=drills)
    assert order[-1] == "last"
    assert len(order) == 4


def test_a_stand_in_is_a_folder_with_the_library_in_it(tmp_path):
    assert stand_in({}) is None
    assert stand_in({"PFID_NVML_SHIM": str(tmp_path)}) is None
    (tmp_path / "libnvidia-ml.so.1").write_bytes(b"")
    assert stand_in({"PFID_NVML_SHIM": str(tmp_path)}) == tmp_path
    found = with_stand_in({"LD_LIBRARY_PATH": "/opt/lib"}, tmp_path)
    assert found["LD_LIBRARY_PATH"] == f"{tmp_path}:/opt/lib"
    assert with_stand_in({"A": "b"}, None) == {"A": "b"}


def test_a_planted_scenario_is_written_whole_with_every_change(tmp_path):
    gpus = PlantedGpus(tmp_path)
    gpus.change(4, state="error 15")
    gpus.put_on(3, 4242, 2**33)
    gpus.report_xid(1, 48)
    text = (tmp_path / "scenario").read_text()
    assert f"count {CARDS}\n" in text
    for line in ("gpu 4 state error 15", "gpu 3 process 4242 8589934592", "xid 1 1 48"):
        assert f"{line}\n" in text
    gpus.change(4, state="")
    gpus.put_on(3, 4242, 0)
    text = (tmp_path / "scenario").read_text()
    assert "state" not in text
    assert "process" not in text


def test_without_a_page_nothing_is_claimed(listener):
    result = walked(walk_nothing, listener, page_url=None)
    assert result.ok is None
    assert "no page" in result.why


def test_nobody_there_is_a_failure_not_a_success(tmp_path):
    assert walked(walk_nothing, tmp_path / "nobody").ok is False


def gate(name):
    return Gate(
        check=CheckName(name),
        stage="watch",
        state=GateState.PROVEN,
        proven_to=ProvenTo(controls=True, sabotage=True),
    )


@pytest.mark.parametrize(
    ("oks", "live"),
    [([], None), ([None], None), ([True], True), ([True, None], True), ([True, False], False)],
)
def test_the_live_leg_is_true_only_if_every_drill_that_ran_was_good(oks, live):
    results = [DrillResult(drill=str(i), check="a", ok=ok) for i, ok in enumerate(oks)]
    others = [DrillResult(drill="x", check="b", ok=False)]
    a, b = with_live([gate("a"), gate("b")], [*results, *others])
    assert a.proven_to.live is live
    assert b.proven_to.live is False
    assert dataclasses.replace(a.proven_to, live=None) == gate("a").proven_to


def test_a_canary_that_is_not_killed_is_noticed(monkeypatch, tmp_path):
    from pfid.bootstrap.live import canary as module
    from pfid.wire.control import Registered

    class Client:
        def ask(self, request, _kind, fds=()):
            assert request.synthetic
            assert len(fds) == 3
            return Registered(run_id=request.run_id, metrics_url="http://x/metrics")

    monkeypatch.setattr(module, "DELIVERY_S", 0.1)
    canary = module.Canary(Client(), tmp_path)
    try:
        monkeypatch.setattr(canary, "_send", lambda _: None)
        for act in (canary.kill, canary.stop):
            with pytest.raises(NotDeliveredError):
                act()
        monkeypatch.undo()
        canary.stop()
        canary.go_on()
        canary.kill()
        monkeypatch.setattr(os, "write", lambda *_: 0)
        with pytest.raises(NotDeliveredError):
            canary.say("a line that never arrives")
    finally:
        monkeypatch.undo()
        canary.close()
