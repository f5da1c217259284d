"""What the main thread owns: every run, what is due, and what is to be written."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from pfid.config.model import Config
from pfid.daemon.due_times import DueTimes
from pfid.daemon.gpu_box import GpuBox
from pfid.daemon.messages import Message
from pfid.daemon.ports import Ports
from pfid.daemon.tracked import Judged, Member, Stream, TrackedRun
from pfid.domain.gate import Gate, GateState
from pfid.domain.names import CheckName, RunId
from pfid.domain.snapshot import CheckCost, PluginView, SamplerView
from pfid.domain.transition import Origin, Transition
from pfid.domain.verdict import Entity, EntityKind
from pfid.spec.check import AnyCheck
from pfid.spec.ports.gates import GateFacts
from pfid.wire.plugins import CheckInfo
from pfid.wire.stored import Change, PutEvent, StoredEvent, UnreadRun, pack

BOX_SUBJECT: Final = "box"
DISK: Final = "disk"
"""What the state on disk is called among the sources of facts."""
CHECKPOINT: Final = "checkpoint"
"""Due: write what has moved."""
EARLIER: Final = "earlier"
"""Due: ask what earlier runs of the same name left."""
LEFT: Final = "left"
"""Due: see what a run leaves to later ones."""
SHOWN_EVENTS_MAX: Final = 200
"""Newest transitions in the snapshot."""
REMEMBERED_EVENTS: Final = 1000
"""Newest events in memory, for those who follow; the store has the others."""


def public(transition: Transition) -> Transition:
    """A transition without what belongs to the run's owner alone."""
    if not transition.verdict.evidence:
        return transition
    return replace(transition, verdict=replace(transition.verdict, evidence=()))


DueKey = tuple[str, str | int]
Judgeable = AnyCheck | CheckInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """The checks of stage ``watch``, and what may be believed of them.

    Attributes:
        run: those that are asked about each run; a CheckInfo stands for one that must not run
            in this process and goes to the plugin worker.
        box: those that are asked about the box.
        gpu: those that are asked about each GPU.
        gates: every gate, also of checks that could not be loaded.
        facts: likewise for the check that watches the checks; None before the self-test.
        plugins: what was loaded, and what was not.
        legs: wall time of the last full success of the self-test, by leg.
    """

    run: tuple[Judgeable, ...] = ()
    box: tuple[Judgeable, ...] = ()
    gpu: tuple[Judgeable, ...] = ()
    gates: tuple[Gate, ...] = ()
    facts: tuple[GateFacts, ...] | None = None
    plugins: tuple[PluginView, ...] = ()
    legs: dict[str, float] = field(default_factory=dict)
    _proven: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Look the gates through once: every verdict asks."""
        names = frozenset(g.check for g in self.gates if g.state is GateState.PROVEN)
        object.__setattr__(self, "_proven", names)

    def proven(self, name: str) -> bool:
        """Whether what the check says counts."""
        return name in self._proven


@dataclass(slots=True, eq=False, kw_only=True)
class Core:
    """All state of the loop. Only the main thread touches it.

    Attributes:
        ports: the outside.
        post: puts a message into the loop's own inbox; for answers of other threads.
        machine_id: of this machine.
        boot_id: of this boot.
        booted_at_s: wall time of it.
        config: in force.
        checks: likewise.
        embedded: whether this is one run's own engine, not the box's daemon.
        own_uid: of the daemon.
        version: likewise.
        metrics_url: told to whoever registers.
        event_id: of the last event.
        unread: living runs whose stored row cannot be read and that nobody has registered again.
        changes: to be committed at the end of this turn, together.
        runs: living ones, and those that ended a short while ago.
        members: every process that is held, by token.
        by_pid: likewise, by pid.
        streams: every handed-over file, by the reader's number.
        box: verdicts about the box, by check.
        gpus: what is known of the GPUs, with the verdicts about each.
        due: own monotonic due-times.
        touched: runs whose state has to be written in this turn, whole.
        settled: whether a check about the box or a GPU has spoken since its state was last written.
        events: the newest events, oldest first.
        shown: the newest of them as everybody may see them, without those of a self-test.
        plugin_errors: what plugins did wrong, counted by plugin and hook.
        plugin_worker_ends: ends of their process that nobody asked for, by cause.
        detection_s: how long the slowest check took to see a planted fault, by leg.
        snapshot_stale: whether readers could be told something new.
        urgent: whether something happened that the page should not wait for.
    """

    ports: Ports
    post: Callable[[Message], None]
    machine_id: str
    boot_id: str
    booted_at_s: float = 0.0
    config: Config = field(default_factory=Config)
    checks: Checks = field(default_factory=Checks)
    embedded: bool = False
    own_uid: int = 0
    version: str = ""
    metrics_url: str | None = None
    runs: dict[RunId, TrackedRun] = field(default_factory=dict)
    members: dict[int, Member] = field(default_factory=dict)
    by_pid: dict[int, Member] = field(default_factory=dict)
    streams: dict[int, Stream] = field(default_factory=dict)
    box: dict[str, Judged] = field(default_factory=dict)
    gpus: GpuBox = field(default_factory=GpuBox)
    due: DueTimes[DueKey] = field(default_factory=DueTimes)
    event_id: int = 0
    changes: list[Change] = field(default_factory=list)
    touched: dict[RunId, TrackedRun] = field(default_factory=dict)
    settled: bool = False
    events: deque[StoredEvent] = field(default_factory=lambda: deque(maxlen=REMEMBERED_EVENTS))
    shown: deque[Transition] = field(default_factory=lambda: deque(maxlen=SHOWN_EVENTS_MAX))
    costs: dict[str, CheckCost] = field(default_factory=dict)
    samplers: dict[str, SamplerView] = field(default_factory=dict)
    reader_generation: int = 0
    store_problem: str = ""
    state_unread: tuple[str, ...] = ()
    unread: dict[str, UnreadRun] = field(default_factory=dict)
    plugin_errors: dict[str, dict[str, int]] = field(default_factory=dict)
    plugin_worker_ends: dict[str, int] = field(default_factory=dict)
    detection_s: dict[str, float] = field(default_factory=dict)
    snapshot_stale: bool = True
    urgent: bool = False
    next_token: int = 0
    next_stream: int = 0

    def now_s(self) -> float:
        """Wall time."""
        return self.ports.clock.now_s()

    def monotonic_s(self) -> float:
        """Monotonic time."""
        return self.ports.clock.monotonic_s()

    def token(self) -> int:
        """A number that was never used for another process."""
        self.next_token += 1
        return self.next_token

    def stream_number(self) -> int:
        """A number that was never used for another stream."""
        self.next_stream += 1
        return self.next_stream

    def living(self) -> Iterable[TrackedRun]:
        """Runs that have not ended."""
        return (r for r in self.runs.values() if r.end is None)

    def touch(self, run: TrackedRun) -> None:
        """Note that the run is to be written at the end of this turn."""
        run.dirty = True
        run.view = None
        self.touched[run.run_id] = run
        self.snapshot_stale = True

    def announce(self, transition: Transition, run: TrackedRun | None) -> None:
        """Make an event of a transition; it is committed with whatever produced it."""
        self.event_id += 1
        uid = None if run is None else run.run.uid
        if run is not None and run.synthetic:
            transition = replace(transition, origin=Origin.SELFTEST)
        event = StoredEvent(event_id=self.event_id, uid=uid, transition=transition)
        self.changes.append(put_event(event))
        self.remember(event)
        self.urgent = True
        if run is not None:
            self.touch(run)

    def remember(self, event: StoredEvent) -> None:
        """Keep an event for those who follow, and for everybody without its evidence."""
        self.events.append(event)
        if event.transition.origin is Origin.REAL:
            self.shown.append(public(event.transition))

    def cost(self, check: str) -> CheckCost:
        """What a check has cost so far."""
        return self.costs.get(check) or CheckCost(check=CheckName(check), last_run_s=None)

    def sampled(self, name: str, *, error: bool = False, timeout: bool = False) -> None:
        """Note that a source of facts was read, or was not."""
        view = self.samplers.get(name)
        if view is None:
            return
        failed = error or timeout
        self.samplers[name] = replace(
            view,
            last_success_s=view.last_success_s if failed else self.now_s(),
            errors=view.errors + error,
            timeouts=view.timeouts + timeout,
        )


def judge_by(core: Core, checks: Checks) -> None:
    """Judge by these checks from now on, and forget what those said that are not among them.

    A check that left (its file broke, it was turned off) says nothing any more: what it said last
    would be shown for as long as the run lives, and it would stay due without ever being asked.
    """
    core.checks = checks
    of_runs = {check.name for check in checks.run}
    for run in core.runs.values():
        run.judged = {name: judged for name, judged in run.judged.items() if name in of_runs}
    of_box = {check.name for check in checks.box}
    core.box = {name: judged for name, judged in core.box.items() if name in of_box}
    of_gpus = {check.name for check in checks.gpu}
    for gpu in core.gpus.gpus.values():
        gpu.judged = {name: judged for name, judged in gpu.judged.items() if name in of_gpus}


def put_event(event: StoredEvent) -> PutEvent:
    """What writes an event; once more is no matter."""
    transition = event.transition
    return PutEvent(
        event_id=event.event_id,
        subject=_subject(transition.entity),
        uid=event.uid,
        synthetic=transition.origin is Origin.SELFTEST,
        at_s=transition.at_s,
        body=pack(transition),
    )


def _subject(entity: Entity) -> str:
    """What an event is found by."""
    return entity.id if entity.kind in {EntityKind.RUN, EntityKind.GPU} else BOX_SUBJECT
