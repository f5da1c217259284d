"""Joins adapters, loop and gates into a daemon for the box, or an engine for one run."""

import contextlib
import gc
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Final

from pfid.adapters.clocks import SystemClock, booted_at_s
from pfid.adapters.control_server import ControlServer
from pfid.adapters.inbox import Inbox
from pfid.adapters.memory_room import MemoryRooms
from pfid.adapters.oom_counter import OomCounter
from pfid.adapters.own_log import OwnLog
from pfid.adapters.process_table import ProcessTable
from pfid.adapters.revision import running_version
from pfid.adapters.run_history import RunHistory
from pfid.adapters.scheduler import Scheduler
from pfid.adapters.store import ASKED_S, Store, StoreEvents
from pfid.adapters.store_file import StateFile
from pfid.adapters.systemd_notify import (
    SystemdNotify,
    forget_own_variables,
    passed_fds,
    watchdog_interval_s,
)
from pfid.adapters.thread_ends import hear_of_ends
from pfid.bootstrap.daemon_joints import (
    ReaderJoint,
    StoreJoint,
    looker,
    on_left,
    on_request,
)
from pfid.bootstrap.gates import Gates
from pfid.bootstrap.gpus import GpuJoint, gpu_box
from pfid.bootstrap.notifying import Notifying
from pfid.bootstrap.page_joint import PageJoint
from pfid.bootstrap.page_making import no_page, page_joint
from pfid.bootstrap.parts import built_parts
from pfid.bootstrap.place import STATE_FILE, Place
from pfid.bootstrap.proving import Proving
from pfid.bootstrap.reloading import Reloading, certificates
from pfid.config.model import Config
from pfid.daemon.core import Core
from pfid.daemon.due_work import JOBS
from pfid.daemon.hooks import Hooks
from pfid.daemon.judging import Judging
from pfid.daemon.loop import Loop
from pfid.daemon.messages import (
    Committed,
    Died,
    JobFired,
    JobTrouble,
    Message,
    Signalled,
    StoreReset,
    StoreTrouble,
    ThreadEnded,
)
from pfid.daemon.parts import Parts
from pfid.daemon.ports import Ports
from pfid.domain.errors import ConfigError, PfidError
from pfid.domain.snapshot import SamplerView
from pfid.host.configured_checks import problems_of_watch

SHOWN_EVENTS: Final = 200
SWITCH_S: Final = 0.0001
GC_YOUNG, GC_MIDDLE, GC_OLD = 20_000, 20, 1_000_000
ENGINE_UNUSED_S: Final = 60.0
ENGINE_LINGER_S: Final = 10.0
_SAMPLERS: Final = {"proc": 5.0, "steps": 1.0, "disk": ASKED_S}


class BrokenError(PfidError):
    """A part of the daemon ended with an error, and the daemon with it."""


@dataclass(slots=True, eq=False, kw_only=True)
class Daemon:
    """Everything that runs, and the order in which it starts and stops."""

    place: Place
    loop: Loop
    core: Core
    parts: Parts
    store: Store
    reader: ReaderJoint
    gates: Gates
    proving: Proving
    gpus: GpuJoint
    server: ControlServer
    page: PageJoint | None
    notifying: Notifying
    scheduler: Scheduler
    notify: SystemdNotify
    log: OwnLog
    inbox: Inbox[Message]
    passed: list[tuple[str, int]] = field(default_factory=list)
    engine_started_s: float = 0.0

    def run(self) -> None:
        """Resume, start, say READY, go round until told to stop.

        Raises:
            BrokenError: if a part of it ended with an error; what was seen is written by then.
        """
        hear_of_ends(lambda name, error: self.inbox.put(ThreadEnded(name=name, error=error)))
        self._start()
        try:
            self._run()
        finally:
            self._stop()
        if self.loop.broken:
            raise BrokenError(self.loop.broken)

    def _start(self) -> None:
        restored = self.store.restored(
            ended_after_s=time.time() - self.core.config.page.ended_run_linger_s,
            events_max=SHOWN_EVENTS,
        )
        if self.store.problem:
            self.log.say("critical", "state file", problem=self.store.problem)
        self.store.start()
        self.parts.resuming.resume(restored, self.passed)
        self.reader.owner.start()
        self.gpus.start()
        self.scheduler.start()
        self._take_signals()
        self.server.start()
        if self.page is not None:
            self.page.server.start()
        settle_memory()
        self.loop.set_ready()
        self.loop.turn()
        if self.page is not None:
            self.page.serve(self.loop.snapshot, urgent=True)
            self.page.server.set_ready(ready=True)
        self.notifying.follow(self.core.config)
        self.notify.ready(f"watching {len(self.core.runs)} runs")
        self.log.say("info", "ready", runs=len(self.core.runs), socket=str(self.place.socket))

    def _run(self) -> None:
        if self.place.engine_of is None:
            self.loop.run()
            return
        self.loop.begin()
        began_s = time.monotonic()
        done_s: float | None = None
        while not self.loop.stopping:
            self.loop.turn()
            now_s = time.monotonic()
            over = all(r.final for r in self.core.runs.values())
            settled = over and not self.parts.ledger.promises
            done_s = (done_s or now_s) if settled else None
            if done_s is None:
                continue
            limit_s = ENGINE_LINGER_S if self.core.runs else ENGINE_UNUSED_S
            if now_s - (done_s if self.core.runs else began_s) >= limit_s:
                self.loop.stop()

    def _take_signals(self) -> None:
        self.inbox.heed_signals()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            # Inbox.put is safe here; Event.set and Queue.put can deadlock in a handler.
            signal.signal(number, lambda n, _: self.inbox.put(Signalled(number=n)))

    def _stop(self) -> None:
        self.notify.stopping()
        self.scheduler.close()
        self.notifying.close()
        self.server.close()
        if self.page is not None:
            self.page.close()
            self.page.server.stop()
        self.reader.owner.close(timeout_s=5.0)
        self.gpus.close(timeout_s=8.0)
        self.proving.close()
        self.gates.close()
        with contextlib.suppress(Exception):
            self.parts.baselines.keep(at_last=True)
            self.parts.ledger.checkpoint_all()
            self.parts.ledger.flush()
        if not self.store.close():
            self.log.say(
                "error", "not everything could be written", place=str(self.place.state_dir)
            )
        self.notify.close()
        self.inbox.close()


def build(place: Place, config: Config, environ: MutableMapping[str, str]) -> Daemon:
    """Make a daemon; the gates are proven, every socket is bound, nothing runs yet.

    Raises:
        StateError: if the state file is another daemon's, or cannot be made.
        OSError: if a socket cannot be bound.
        ListenError: if the page's address cannot be had.
        ConfigError: if the configuration speaks of checks or limits that nobody has.
    """
    if problems := problems_of_watch(config):
        raise ConfigError(problems)
    _raise_descriptor_limit()
    # A thread that wants to speak waits so long at most for one that computes.
    sys.setswitchinterval(SWITCH_S)
    log = OwnLog()
    inbox: Inbox[Message] = Inbox(
        lambda token, at_s, mono_s: Died(token=token, at_s=at_s, monotonic_s=mono_s)
    )
    post = inbox.put
    notify = SystemdNotify(environ.get("NOTIFY_SOCKET", ""))
    watchdog_s = watchdog_interval_s(environ, os.getpid())
    passed = passed_fds(environ, os.getpid())
    forget_own_variables(environ)
    for folder in (place.state_dir, place.socket.parent, place.proofs.parent):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    state = StateFile(path=place.state_dir / STATE_FILE, local=place.engine_of is None)
    store = Store(state, _store_events(post))
    reader = ReaderJoint(post, inbox.leave)
    page = page_joint(place, config, log)
    embedded = place.engine_of is not None
    server = ControlServer(
        place.socket,
        mode=place.socket_mode,
        on_request=on_request(post),
        on_left=on_left(post),
        look=looker(allow_fuse=embedded),
    )
    processes = ProcessTable()
    core = Core(
        ports=Ports(
            clock=SystemClock(),
            processes=processes,
            deaths=inbox,
            oom=OomCounter(),
            memory=MemoryRooms(),
            store=StoreJoint(
                store,
                None if place.history is None else RunHistory(place.history),
                lambda problem: log.say("error", "history", problem=problem),
            ),
            reader=reader,
            replies=server,
            notify=notify,
            log=log,
        ),
        post=post,
        machine_id=processes.machine_id,
        boot_id=processes.boot_id,
        booted_at_s=booted_at_s(),
        config=config,
        gpus=gpu_box(config, None if place.history is None else place.history.parent),
        embedded=embedded,
        own_uid=os.getuid(),
        version=running_version(),
        metrics_url=None if page is None else page.server.url,
        samplers={
            name: SamplerView(name=name, interval_s=every_s, last_success_s=None)
            for name, every_s in _SAMPLERS.items()
        },
    )
    gates = Gates(place.proofs, log, post)
    notifying = Notifying(None if embedded else place.state_dir / STATE_FILE, log)
    if page is not None:
        page.notices = notifying.counts
    core.checks = gates.prove(config)
    judging = Judging(core, gates.plugins(post))
    gpus = GpuJoint(post, config, gates.foreign, place)
    parts = built_parts(core, judging, allow_fuse=embedded)
    reloading = Reloading(
        file=place.config,
        certificates=lambda new: certificates(new, log, embedded=embedded),
        core=core,
        page=page,
        gpus=gpus,
        notifying=notifying,
        aside=lambda act: proving.aside(act),  # noqa: PLW0108 - it is made of this
    )
    proving = Proving(gates, core, post, reloading.prepare)
    hooks = Hooks(
        page=no_page if page is None else page.serve,
        reload=proving.reload,
        prove=proving.ask,
        came=proving.take,
        live=lambda results: gates.enter(core, "live", results, core.now_s()),
        alerts=lambda results: gates.alerts(core, results),
    )
    loop = Loop(parts, inbox, hooks, watchdog_s=watchdog_s)
    scheduler = Scheduler(
        lambda job: post(JobFired(job=job)), lambda job, kind: post(JobTrouble(job=job, kind=kind))
    )
    for job, every_s in JOBS.items():
        scheduler.every(job, every_s)
    _write_metrics_url(place, core.metrics_url)
    return Daemon(
        place=place,
        loop=loop,
        core=core,
        parts=parts,
        store=store,
        reader=reader,
        gates=gates,
        proving=proving,
        gpus=gpus,
        server=server,
        page=page,
        notifying=notifying,
        scheduler=scheduler,
        notify=notify,
        log=log,
        inbox=inbox,
        passed=passed,
    )


def _store_events(post: Callable[[Message], None]) -> StoreEvents:
    return StoreEvents(
        committed=lambda number: post(Committed(number=number)),
        trouble=lambda problem: post(StoreTrouble(problem=problem)),
        reset=lambda problem: post(StoreReset(problem=problem)),
        answers=lambda: post(Committed(number=0)),  # nothing more than is known
    )


def _write_metrics_url(place: Place, url: str | None) -> None:
    if place.engine_of is not None and url is not None:
        (place.state_dir / "metrics_url").write_text(url + "\n", encoding="utf-8")


def settle_memory() -> None:
    """Keep the collector from walking over everything that stays, in the middle of a death.

    What is made in the loop dies by its reference count; the rest is collected with the proofs.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_YOUNG, GC_MIDDLE, GC_OLD)


def _raise_descriptor_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
