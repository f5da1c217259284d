"""The loop: message, policy, state, commit, and the word to the watchdog that all of it was done.

One thread, one inbox. Its own monotonic due-times decide what is due; the scheduler's firings only
come earlier or not at all. Nothing here waits for a disk, a client or a run's file.
"""

import queue
import signal
from collections.abc import Callable
from typing import Final

from pfid.daemon.core import DISK
from pfid.daemon.due_work import DueWork
from pfid.daemon.hooks import Came, Hooks
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
from pfid.daemon.own_health import OwnHealth
from pfid.daemon.parts import Parts
from pfid.daemon.ports import Inbox
from pfid.daemon.requests import Acts, Requests, cannot_write
from pfid.domain.snapshot import Snapshot

TURN_MESSAGES: Final = 256
TURN_S: Final = 0.005
AGAIN_AFTER_S: Final = 10.0
"""What was due and could not be done is tried again: a run is never left unjudged or unended."""
"""Work that is due is cut off after this, so that what it changed gets written."""
IDLE_S: Final = 5.0
BREATH_S: Final = 0.003
"""After news the loop rests so long at the most until they are on disk, ..."""
ANSWER_S: Final = 0.0005
"""... and so long for the answer to leave, ..."""
BREATH_SHARE: Final = 0.25
"""... and no more than this share of its time: what is due must not wait for ever."""


class Loop:
    """Runs until told to stop."""

    def __init__(
        self,
        parts: Parts,
        inbox: Inbox,
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
        self._due_work = DueWork(parts, hooks, self.snapshot)
        self._inbox = inbox
        self._hooks = hooks
        self._watchdog_s = None if watchdog_s is None else watchdog_s / 2
        self._watchdog_due_s = 0.0
        self._stopping = False
        self.broken = ""
        """Why the daemon may not go on; "" while it may."""
        self._health = OwnHealth(self._core.now_s())
        self._breath_ends_s = self._next_breath_s = 0.0

    @property
    def stopping(self) -> bool:
        """Whether the loop is to end after this turn."""
        return self._stopping

    def stop(self) -> None:
        """End after this turn."""
        self._stopping = True

    def set_ready(self) -> None:
        """The self-test is passed and the sockets are bound."""
        self._health.ready = True

    def run(self) -> None:
        """Turn after turn, until told to stop."""
        self.begin()
        while not self._stopping:
            self.turn()

    def begin(self) -> None:
        """Make the periodic work due for the first time."""
        self._due_work.begin()

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
        self._due_work.hasten()
        ended_s = self._core.monotonic_s()
        self._health.turned(ended_s - began_s, self._core.now_s())
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
        try:
            return self._inbox.get(timeout=max(0.0, self._wait_s()))
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

    def _guarded(self, act: Callable[..., None], *arguments: object) -> bool:
        """Whether it was done. What cannot be handled is said, and must not stop the watch."""
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
            return False
        return True

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
                parts.judging.catch_up()
                self._requests.asked(message)
            case ClientLeft():
                parts.answering.left(message.conn)
            case Committed():
                self._committed(message)
            case JobFired():
                self._due_work.fired(message.job)
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
                parts.baselines.found(message)
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

    def _store_trouble(self, problem: str) -> None:
        self._core.store_problem = problem
        if problem:
            self._core.sampled(DISK, error=True)
        self._core.snapshot_stale = self._core.urgent = True
        if problem:
            for promise in self._parts.ledger.break_promises():
                self._core.ports.replies.reply(promise.conn, cannot_write(problem))
        level = "critical" if problem else "info"
        self._core.ports.log.say(level, "state on disk", problem=problem or "written again")

    def _committed(self, message: Committed) -> None:
        self._core.sampled(DISK)
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
        self._health.config_ok = not came.problem
        if came.problem:
            self._core.ports.log.say(
                "error", "configuration refused, the old one stays", problem=came.problem
            )
        else:
            self._health.config_loaded_s = self._core.now_s()
            self._core.ports.log.say("info", "configuration taken")
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

    def _do_due(self) -> None:
        """Do what is due, oldest first; a message that comes meanwhile goes first."""
        began_s = now_s = self._core.monotonic_s()
        while (due := self._core.due.pop(now_s)) is not None:
            (kind, what), _ = due
            done = self._guarded(self._due_work.do, kind, what)
            now_s = self._core.monotonic_s()
            if not done:
                self._core.due.sooner((kind, what), now_s + AGAIN_AFTER_S)
            if now_s - began_s > TURN_S or not self._inbox.empty():
                return

    def snapshot(self) -> Snapshot:
        """This moment, whole."""
        self._parts.judging.catch_up()
        self._core.snapshot_stale = False
        return self._parts.publishing.snapshot(self._health.view(self._core))

    def _status_line(self) -> str:
        living = sum(1 for _ in self._core.living())
        return f"watching {living} runs"
