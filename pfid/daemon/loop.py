"""The loop: message, policy, state, commit, and the word to the watchdog that all of it was done.

One thread, one inbox. Its own monotonic due-times decide what is due; the scheduler's firings only
come earlier or not at all. Nothing here waits for a disk, a client or a run's file.
"""

import queue
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from pfid.daemon.answering import Answering
from pfid.daemon.core import BOX_SUBJECT, Core
from pfid.daemon.deaths import Deaths
from pfid.daemon.finishing import Finishing
from pfid.daemon.gpus import Gpus
from pfid.daemon.hooks import Came, Hooks
from pfid.daemon.judging import GPUS_SUBJECT, Judging
from pfid.daemon.ledger import Ledger
from pfid.daemon.messages import (
    Asked,
    ClientLeft,
    Committed,
    Died,
    EarlierFound,
    EventsFound,
    GpuBusSeen,
    GpuHeard,
    GpuSamplerLost,
    JobFired,
    JobTrouble,
    Message,
    OldRunFound,
    PluginFault,
    PluginWorkerEnded,
    Proven,
    ReaderEnded,
    ReaderStarted,
    ReaderTold,
    Signalled,
    StoreReset,
    StoreTrouble,
    ThreadEnded,
    WorkerVerdict,
)
from pfid.daemon.plugins import Plugins
from pfid.daemon.publishing import Publishing
from pfid.daemon.reading import Reading
from pfid.daemon.registering import Registering
from pfid.daemon.requests import Acts, Requests, cannot_write
from pfid.daemon.resuming import Resuming
from pfid.daemon.tracked import TrackedRun
from pfid.daemon.trees import Trees
from pfid.domain.names import RunId
from pfid.domain.snapshot import DaemonHealth, Snapshot

TURN_MESSAGES: Final = 256
TURN_S: Final = 0.005
"""Work that is due is cut off after this, so that what it changed gets written."""
IDLE_S: Final = 5.0
BREATH_S: Final = 0.003
"""After news the loop rests so long at the most until they are on disk, ..."""
ANSWER_S: Final = 0.0005
"""... and so long for the answer to leave, ..."""
BREATH_SHARE: Final = 0.25
"""... and no more than this share of its time: what is due must not wait for ever."""
JOB_SLACK_S: Final = 1.0
"""A job the scheduler has not fired by then is run anyway, and that is counted."""

SWEEP: Final = "sweep"
RENDER: Final = "render"
RETENTION: Final = "retention"
PROOF_AGE: Final = "proof_age"
JOBS: Final = {SWEEP: 5.0, RENDER: 1.0, RETENTION: 3600.0, PROOF_AGE: 600.0}
"""Periodic jobs and their intervals, seconds."""


@dataclass(slots=True, eq=False, kw_only=True)
class Parts:
    """The loop's members, built over one core."""

    core: Core
    judging: Judging
    reading: Reading
    deaths: Deaths
    trees: Trees
    registering: Registering
    answering: Answering
    publishing: Publishing
    ledger: Ledger
    finishing: Finishing
    resuming: Resuming
    gpus: Gpus
    plugins: Plugins


class Loop:
    """Runs until told to stop."""

    def __init__(
        self,
        parts: Parts,
        inbox: "queue.SimpleQueue[Message]",
        hooks: Hooks,
        *,
        watchdog_s: float | None = None,
    ) -> None:
        """Prepare.

        Args:
            parts: see there.
            inbox: where every message arrives.
            hooks: see there.
            watchdog_s: how often the service manager wants to hear from us at the latest.
        """
        self._parts = parts
        self._requests = Requests(
            parts.core,
            parts.registering,
            parts.answering,
            parts.ledger,
            Acts(
                snapshot=self.snapshot,
                reload=self.reload,
                prove=hooks.prove,
                live=hooks.live,
                alerts=hooks.alerts,
                gpus=parts.gpus,
            ),
        )
        self._core = parts.core
        self._inbox = inbox
        self._hooks = hooks
        self._watchdog_s = None if watchdog_s is None else watchdog_s / 2
        self._watchdog_due_s = 0.0
        self._stopping = False
        self.broken = ""
        """Why the daemon may not go on; "" while it may."""
        now_s = self._core.now_s()
        self.health = DaemonHealth(
            started_at_s=now_s, ready=False, last_iteration_s=now_s, config_loaded_s=now_s
        )
        self._breath_ends_s = self._next_breath_s = 0.0
        self._iterations = 0
        self._busy_s = 0.0
        self._ended_at_s: float | None = None
        self._config_ok = True
        self._config_loaded_s = now_s
        self._ready = False

    @property
    def stopping(self) -> bool:
        """Whether the loop is to end after this turn."""
        return self._stopping

    def stop(self) -> None:
        """End after this turn."""
        self._stopping = True

    def set_ready(self) -> None:
        """The self-test is passed and the sockets are bound."""
        self._ready = True

    def run(self) -> None:
        """Turn after turn, until told to stop."""
        self.begin()
        while not self._stopping:
            self.turn()

    def begin(self) -> None:
        """Make the periodic work due for the first time."""
        now_s = self._core.monotonic_s()
        for job, every_s in JOBS.items():
            self._core.due.set(("job", job), now_s + min(every_s, 1.0) + JOB_SLACK_S)
        self._core.due.set(("box", BOX_SUBJECT), now_s)
        self._core.due.set(("gpus", GPUS_SUBJECT), now_s)

    def turn(self) -> None:
        """One complete iteration."""
        first = self._first()
        began_s = self._core.monotonic_s()
        if first is not None:
            self._handle_all(first)
            self._write_news()
        if self._stopping or self._core.monotonic_s() >= self._breath_ends_s:
            self._do_due()
            self._parts.trees.go_on()
            self._parts.ledger.flush()
        ended_s = self._core.monotonic_s()
        self._iterations += 1
        self._busy_s += ended_s - began_s
        self._ended_at_s = self._core.now_s()
        self._feed_watchdog(ended_s)

    def _write_news(self) -> None:
        """What happened is written before what is merely due, by a thread that needs ours to rest.

        Computing on would keep the interpreter from the threads that write and that answer.
        """
        if not self._core.changes and not self._parts.ledger.waiting:
            return
        self._parts.ledger.flush()
        now_s = self._core.monotonic_s()
        if now_s >= self._next_breath_s:
            self._breath_ends_s = now_s + BREATH_S
            self._next_breath_s = now_s + BREATH_S / BREATH_SHARE

    def _first(self) -> Message | None:
        wait_s = self._wait_s()
        try:
            if wait_s <= 0:
                return self._inbox.get_nowait()
            return self._inbox.get(timeout=wait_s)
        except queue.Empty:
            return None

    def _wait_s(self) -> float:
        if self._stopping:
            return 0.0
        if self._parts.trees.busy:
            return max(0.0, self._breath_ends_s - self._core.monotonic_s())
        now_s = self._core.monotonic_s()
        due_s = self._core.due.next_s()
        breath_s = self._breath_ends_s - now_s
        waits = [IDLE_S] if due_s is None else [IDLE_S, max(breath_s, due_s - now_s)]
        if self._watchdog_s is not None:
            waits.append(self._watchdog_due_s - now_s)
        return min(waits)

    def _handle_all(self, first: Message) -> None:
        message: Message | None = first
        for _ in range(TURN_MESSAGES):
            if message is not None:
                self._guarded(self._handle, message)
            try:
                message = self._inbox.get_nowait()
            except queue.Empty:
                return
        if message is not None:
            self._guarded(self._handle, message)

    def _guarded(self, act: Callable[..., None], *arguments: object) -> None:
        """One message that cannot be handled must not stop the watch; it is said, and counted."""
        try:
            act(*arguments)
        except Exception as error:  # noqa: BLE001 - see above
            import traceback

            self._core.ports.log.say(
                "critical",
                "the loop failed on a message",
                error=f"{type(error).__name__}: {error}",
                trace=traceback.format_exc(limit=12),
            )

    def _feed_watchdog(self, now_s: float) -> None:
        if self._watchdog_s is not None and now_s >= self._watchdog_due_s:
            self._core.ports.notify.watchdog()
            self._watchdog_due_s = now_s + self._watchdog_s

    def _handle(self, message: Message) -> None:  # noqa: C901, PLR0912 - one line a message
        parts = self._parts
        match message:
            case Died():
                parts.deaths.died(message)
            case ReaderTold():
                parts.reading.told(message)
            case Asked():
                self._requests.asked(message)
            case ClientLeft():
                parts.answering.left(message.conn)
            case Committed():
                self._committed(message)
            case JobFired():
                self._fired(message.job)
            case GpuHeard():
                parts.gpus.heard(message)
            case GpuSamplerLost():
                parts.gpus.lost(message)
            case GpuBusSeen():
                parts.gpus.bus(message)
            case PluginFault():
                parts.plugins.fault(message)
            case PluginWorkerEnded():
                parts.plugins.worker_ended(message)
            case ReaderStarted():
                parts.reading.started(message.generation)
            case ReaderEnded():
                parts.reading.ended(message)
            case EventsFound():
                self._requests.events_found(message)
            case OldRunFound():
                self._requests.old_run_found(message)
            case EarlierFound():
                self._earlier(message)
            case Signalled():
                self._signalled(message.number)
            case ThreadEnded():
                self._thread_ended(message)
            case StoreTrouble():
                self._store_trouble(message.problem)
            case StoreReset():
                self._core.ports.log.say("critical", "state file corrupt", problem=message.problem)
                parts.ledger.rewrite_everything()
            case JobTrouble():
                self._core.ports.log.say(
                    "warning", "scheduler trouble", job=message.job, kind=message.kind
                )
            case Proven():
                self._came(self._hooks.came())
            case WorkerVerdict():
                parts.judging.come_back(
                    message.check, message.subject, message.verdict, message.error
                )

    def _earlier(self, message: EarlierFound) -> None:
        run = self._core.runs.get(RunId(message.run_id))
        if run is not None and message.earlier:
            run.earlier = message.earlier
            self._parts.judging.poke(run, ("steps",))

    def _store_trouble(self, problem: str) -> None:
        self._core.store_problem = problem
        self._core.snapshot_stale = self._core.urgent = True
        if problem:
            for promise in self._parts.ledger.break_promises():
                self._core.ports.replies.reply(promise.conn, cannot_write(problem))
        level = "critical" if problem else "info"
        self._core.ports.log.say(level, "state on disk", problem=problem or "written again")

    def _committed(self, message: Committed) -> None:
        self._breath_ends_s = min(self._breath_ends_s, self._core.monotonic_s() + ANSWER_S)
        kept, last_event = self._parts.ledger.committed(message.number)
        for promise in kept:
            self._core.ports.replies.reply(promise.conn, promise.reply)
        self._parts.answering.committed(last_event)

    def reload(self, conn: int | None = None) -> None:
        """Begin to read the configuration again; the old one is in force until that is over."""
        self._core.ports.notify.reloading(self._core.monotonic_s())
        self._hooks.reload(conn)

    def _came(self, came: Came) -> None:
        """Something was made beside the loop: whoever asked for it is told."""
        if came.reload:
            self._reloaded(came)
        self._requests.came(came)

    def _reloaded(self, came: Came) -> None:
        self._config_ok = not came.problem
        if came.problem:
            self._core.ports.log.say(
                "error", "configuration refused, the old one stays", problem=came.problem
            )
        else:
            self._config_loaded_s = self._core.now_s()
            for run in self._core.living():
                self._parts.judging.poke(run, ("run", "steps", "log"))
        self._core.snapshot_stale = self._core.urgent = True
        if not came.another:
            self._core.ports.notify.ready(self._status_line())

    def _signalled(self, number: int) -> None:
        if number in {signal.SIGTERM, signal.SIGINT}:
            self._stopping = True
        elif number == signal.SIGHUP:
            self.reload()

    def _thread_ended(self, message: ThreadEnded) -> None:
        """End rather than look alive without it: whoever started us starts us afresh."""
        self.broken = f"thread {message.name} ended: {message.error}"
        self._core.ports.log.say(
            "critical", "a thread ended", thread=message.name, error=message.error
        )
        self._stopping = True

    def _fired(self, job: str) -> None:
        """The scheduler came first: the job is due now."""
        self._core.due.set(("job", job), self._core.monotonic_s())

    def _do_due(self) -> None:
        """Do what is due, oldest first; a message that comes meanwhile goes first."""
        began_s = now_s = self._core.monotonic_s()
        while (due := self._core.due.pop(now_s)) is not None:
            (kind, what), _ = due
            self._guarded(self._do, kind, what)
            now_s = self._core.monotonic_s()
            if now_s - began_s > TURN_S or not self._inbox.empty():
                return

    def _do(self, kind: str, what: str | int) -> None:
        parts = self._parts
        if kind == "status" and isinstance(what, int):
            parts.deaths.ask_status(what)
            return
        if kind == "follow" and isinstance(what, int):
            parts.answering.waited_enough(what)
            return
        if kind == "job":
            self._job(str(what))
            return
        if kind == "box":
            parts.judging.box_due()
            return
        if kind == "gpus":
            parts.judging.gpus_due()
            return
        if kind == "unobserved":
            parts.resuming.unobserved(RunId(str(what)))
            return
        run = self._core.runs.get(RunId(str(what)))
        if run is not None:
            self._do_for_run(kind, run)

    def _do_for_run(self, kind: str, run: TrackedRun) -> None:
        if kind == "judge":
            self._parts.judging.run_due(run)
        elif kind == "drained":
            self._parts.deaths.drained(run)
        elif kind == "final":
            self._parts.finishing.finish(run)
        elif kind == "leave":
            self._parts.finishing.leave(run)
        elif kind.startswith("early"):
            self._parts.trees.look()

    def _job(self, job: str) -> None:
        every_s = JOBS[job]
        self._core.due.set(("job", job), self._core.monotonic_s() + every_s + JOB_SLACK_S)
        if job == SWEEP:
            self._parts.trees.begin()
            self._parts.judging.overdue()
            self._parts.ledger.checkpoint()
        elif job == RENDER:
            urgent, self._core.urgent = self._core.urgent, False
            self._hooks.page(self.snapshot, urgent)
        elif job == RETENTION:
            self._parts.ledger.expire()
        elif job == PROOF_AGE:
            self._hooks.prove(None)

    def snapshot(self) -> Snapshot:
        """This moment, whole."""
        core = self._core
        health = DaemonHealth(
            started_at_s=self.health.started_at_s,
            ready=self._ready,
            last_iteration_s=self._ended_at_s or self.health.started_at_s,
            iterations=self._iterations,
            iteration_seconds=self._busy_s,
            config_loaded_s=self._config_loaded_s,
            config_ok=self._config_ok,
            store_problem=core.store_problem,
            selftest_last_success_s=dict(core.checks.legs),
            selftest_detection_s=dict(core.detection_s),
            log_messages=dict(core.ports.log.counts),
            plugin_errors={name: dict(hooks) for name, hooks in core.plugin_errors.items()},
            plugin_worker_ends=dict(core.plugin_worker_ends),
        )
        core.snapshot_stale = False
        return self._parts.publishing.snapshot(health)

    def _status_line(self) -> str:
        living = sum(1 for _ in self._core.living())
        return f"watching {living} runs"
