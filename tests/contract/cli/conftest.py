"""A daemon that answers with what a test gives it, over the real socket and the real protocol."""

import json
import threading
import time

import msgspec
import pytest
from click.testing import CliRunner

from pfid.adapters.control_server import ControlServer
from pfid.adapters.process_identity import machine_id
from pfid.adapters.store import Store, StoreEvents
from pfid.adapters.store_file import StateFile
from pfid.cli.entry import main
from pfid.config.paths import engine_dir, run_dir
from pfid.domain.gate import Gate, GateState, ProvenTo
from pfid.domain.gpu import AbsentReason, GpuFacts, GpuSample, PowerSource
from pfid.domain.gpu_view import GpusView, GpuView, HolderView, WorkKind
from pfid.domain.identity import ProcessIdentity
from pfid.domain.outcome import Outcome
from pfid.domain.run import EndKind, Run, RunEnd, RunSource, RunState
from pfid.domain.snapshot import DaemonHealth, RunView, Snapshot, VerdictView
from pfid.domain.transition import Transition
from pfid.domain.verdict import Entity, EntityKind, Verdict
from pfid.wire.control import (
    EventsReply,
    GetEvents,
    GetRun,
    GetSnapshot,
    Refused,
    RunReply,
    SnapshotReply,
)
from pfid.wire.stored import PutEvent, PutRun, RunBody, pack

HOSTILE = "\x1b[2Jtr\u202eain\n"


class Make:
    """Runs, verdicts and events."""

    def run(self, run_id="train-0001", *, name="train", state=RunState.RUNNING, end=None, **given):
        run = Run(
            run_id=run_id,
            name=name,
            identity=ProcessIdentity(machine_id="m", boot_id="b", pid=4242, start_ticks=7),
            uid=0,
            username="anna",
            source=RunSource.WRAPPER,
            started_at_s=given.pop("started_at_s", time.time() - 60),
        )
        return RunView(run=run, state=state, end=end, **given)

    def ended(self, run_id, *, ago_s=10.0, exit_code=1):
        end = RunEnd(
            kind=EndKind.EXITED, exit_code=exit_code, signal=None, at_s=time.time() - ago_s
        )
        return self.run(run_id, name=run_id[:-5], state=RunState.FAILED, end=end)

    def verdict(self, outcome=Outcome.PASS, *, check="run_gone", about="train-0001", **given):
        defaults = {"reason": "alive", "summary": "it lives"}
        return VerdictView(
            check=check,
            stage="watch",
            entity=Entity(EntityKind.RUN, about),
            outcome=outcome,
            since_s=time.time() - 5,
            last_run_s=time.time(),
            **{**defaults, **given},
        )

    def gate(self, check="run_gone", state=GateState.PROVEN):
        return Gate(check=check, stage="watch", state=state, proven_to=ProvenTo(controls=True))

    def gpus(self, **changed):
        """One H200 in dense GEMM with the run ``train-0001`` on it; ``changed`` of GpusView."""
        facts = GpuFacts(
            uuid="GPU-1", index=0, name="NVIDIA H200", pci_bus_id="0000:0a:00.0", mig=False
        )
        last = GpuSample(
            uuid="GPU-1",
            at_s=time.time(),
            utilization=1.0,
            power_w=627.4,
            power_source=PowerSource.ENERGY,
            power_limit_w=700.0,
            memory_used_bytes=120 * 1024**3,
            absent={"tensor_activity": AbsentReason.NOT_SUPPORTED},
        )
        holder = HolderView(
            pid=4242, memory_bytes=100, visible=True, username="anna", run_id="train-0001"
        )
        gpu = GpuView(
            facts=facts,
            present=True,
            last=last,
            kind=WorkKind.LOW_POWER,
            kind_reason="busy_at_low_power",
            holders=(holder,),
            recent_utilization=(0.0, None, 1.0),
        )
        defaults = {"up": True, "driver": "580", "expected": 1, "visible": 1, "gpus": (gpu,)}
        return GpusView(**{**defaults, **changed})

    def transition(self, outcome=Outcome.FAIL, *, about="train-0001", at_s=None, **given):
        verdict = Verdict(outcome=outcome, reason="signaled", summary="killed by 9", **given)
        return Transition(
            check="run_gone",
            entity=Entity(EntityKind.RUN, about),
            before=Outcome.PASS,
            verdict=verdict,
            at_s=at_s or time.time(),
        )

    def snapshot(self, **parts):
        health = DaemonHealth(started_at_s=1.0, ready=True, last_iteration_s=time.time())
        gpus = parts.pop("gpus", None)
        parts = {name: tuple(part) for name, part in parts.items()}
        return Snapshot(at_s=time.time(), health=health, gpus=gpus, **parts)


class Daemon:
    """Answers as it is told; events can be added while somebody waits."""

    def __init__(self, path):
        self.snapshot = None
        self.events = []
        self.evidence = {}
        self.refuse_events = False
        self.waiting = threading.Event()
        self._waiters = []
        self.server = ControlServer(
            path,
            mode=0o600,
            on_request=self._answer,
            on_left=lambda _conn: None,
            look=lambda _fd: "",
        )
        self.server.start()

    def _answer(self, peer, request, _fds):
        match request:
            case GetSnapshot():
                self.server.reply(peer.conn, SnapshotReply(snapshot=self._plain(self.snapshot)))
            case GetRun(run_id=run_id):
                self.server.reply(peer.conn, self._run(run_id))
            case GetEvents():
                self._events(peer.conn, request)

    def _run(self, run_id):
        view = next((v for v in self.snapshot.runs if v.run.run_id == run_id), None)
        if view is None:
            return Refused(code="no_such_run", message=f"no run {run_id!r}")
        return RunReply(
            run=self._plain(view),
            verdicts=self._plain([v for v in self.snapshot.verdicts if v.entity.id == run_id]),
            events=self._shown(0, run_id),
            evidence=self.evidence,
        )

    def _events(self, conn, request):
        if self.refuse_events:
            self.server.reply(conn, Refused(code="cannot_write", message="no state file"))
            return
        found = self._shown(request.after_id, request.run_id)
        if found or not request.wait_s:
            self._reply(conn, request, found)
        else:
            self._waiters.append((conn, request))
            self.waiting.set()

    def _reply(self, conn, request, found):
        last_id = found[-1]["id"] if found else request.after_id
        self.server.reply(conn, EventsReply(events=found, last_id=last_id))

    def announce(self, transition):
        """Add an event and tell those who wait."""
        self.events.append(transition)
        waiters, self._waiters = self._waiters, []
        for conn, request in waiters:
            self._reply(conn, request, self._shown(request.after_id, request.run_id))

    def _shown(self, after_id, run_id):
        return [
            {"id": i, "transition": self._plain(t)}
            for i, t in enumerate(self.events, start=1)
            if i > after_id and run_id in {None, t.entity.id}
        ]

    @staticmethod
    def _plain(value):
        return json.loads(msgspec.json.encode(value))


@pytest.fixture
def make():
    return Make()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user without a daemon, in a folder of their own."""
    monkeypatch.setenv("PFID_SOCKET", str(tmp_path / "control.sock"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("PFID_CONFIG", raising=False)
    return tmp_path


@pytest.fixture
def no_daemon(home, monkeypatch):
    """Nobody named a socket, and the fixed place is empty here."""
    monkeypatch.delenv("PFID_SOCKET")
    monkeypatch.setattr("pfid.config.paths.SYSTEM_RUNTIME", home / "nothing")
    return home


@pytest.fixture
def answering(make):
    """Have something answer at a socket of one's own choice."""
    started = []

    def answer(snapshot, *, place):
        started.append(Daemon(place))
        started[-1].snapshot = snapshot

    yield answer
    for each in started:
        each.server.close()


@pytest.fixture
def daemon(home, make):
    started = Daemon(home / "control.sock")
    started.snapshot = make.snapshot()
    yield started
    started.server.close()


@pytest.fixture
def left_behind(no_daemon, make):
    """Write the state file that an engine of a run leaves, with the real store."""

    def leave(view, *transitions, stop=None, final=True):
        import os

        run = view.run
        folder = engine_dir(run_dir(os.environ, machine_id(), run.run_id))
        folder.mkdir(parents=True)
        store = Store(
            StateFile(path=folder / "pfid.sqlite"),
            StoreEvents(committed=lambda _n: None, trouble=pytest.fail, reset=pytest.fail),
        )
        store.start()
        over = final and view.end is not None
        body = RunBody(run=run, state=view.state, end=view.end, stop=stop, final=over)
        changes = [
            PutRun(
                run_id=run.run_id,
                name=run.name,
                fingerprint="",
                uid=0,
                synthetic=False,
                started_at_s=run.started_at_s,
                ended_at_s=None if view.end is None else view.end.at_s,
                body=pack(body),
            )
        ]
        for i, transition in enumerate(transitions, start=1):
            changes.append(
                PutEvent(
                    event_id=i,
                    subject=run.run_id,
                    uid=0,
                    synthetic=False,
                    at_s=transition.at_s,
                    body=pack(transition),
                )
            )
        store.submit(changes)
        assert store.close()
        return folder

    return leave


@pytest.fixture
def pfid(home):
    """Run a command in this process: exit status, stdout, stderr."""

    def run(*arguments):
        done = CliRunner().invoke(main, list(arguments), catch_exceptions=False)
        return done.exit_code, done.stdout, done.stderr

    return run


@pytest.fixture
def pfid_json(pfid):
    def run(*arguments):
        code, out, _ = pfid(*arguments, "--json")
        return code, json.loads(out)

    return run
