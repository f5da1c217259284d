"""Adapters as the loop's ports: each turns a callback into a message, or a call into a call."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

from pfid.adapters import store_queries
from pfid.adapters.control_connection import Peer
from pfid.adapters.run_history import RunHistory
from pfid.adapters.store import Store
from pfid.adapters.worker_events import WorkerEnded, WorkerEvent, WorkerMessage, WorkerStarted
from pfid.adapters.worker_owner import WorkerOwner
from pfid.adapters.worker_process import WorkerCommand
from pfid.bootstrap.plugin_worker import PluginWorker
from pfid.daemon.messages import (
    Asked,
    ClientLeft,
    Message,
    ReaderEnded,
    ReaderStarted,
    ReaderTold,
    WorkerVerdict,
)
from pfid.policy.baseline import EarlierRun
from pfid.spec.world import World
from pfid.wire.control import Request
from pfid.wire.reader import Beat, Order, decode_report, encode
from pfid.wire.stored import Change, StoredEvent, StoredRun
from pfid.workers.admission import Admission

READER_MODULE: Final = "pfid.workers.log_reader"
EARLIER_MAX: Final = 16
OLD_RUN_EVENTS_MAX: Final = 200

Post = Callable[[Message], None]


class StoreJoint:
    """The store with the questions the loop has."""

    def __init__(
        self, store: Store, history: RunHistory | None, trouble: Callable[[str], None]
    ) -> None:
        """Ask ``store``; ``history`` outlives it where it belongs to one run only.

        Both are touched by the store's thread alone: they lie on the same disk, and nothing that
        waits for it may wait in the loop. ``trouble`` hears why something could not be kept.
        """
        self._store = store
        self._history = history
        self._trouble = trouble
        self.submit: Callable[[Sequence[Change]], int] = store.submit

    def find_events(
        self,
        deliver: Callable[[tuple[StoredEvent, ...] | None], None],
        *,
        after_id: int,
        subject: str | None,
        synthetic: bool,
        limit: int,
    ) -> None:
        """Read events."""

        def query(db: sqlite3.Connection) -> tuple[StoredEvent, ...]:
            return tuple(
                store_queries.events_after(
                    db, after_id=after_id, subject=subject, synthetic=synthetic, limit=limit
                )
            )

        self._store.ask(query, deliver)

    def find_run(
        self, deliver: Callable[[StoredRun | None, tuple[StoredEvent, ...]], None], run_id: str
    ) -> None:
        """Read one run and its events."""

        def query(
            db: sqlite3.Connection,
        ) -> tuple[StoredRun | None, tuple[StoredEvent, ...]]:
            events = store_queries.events_after(
                db, after_id=0, subject=run_id, synthetic=True, limit=OLD_RUN_EVENTS_MAX
            )
            return store_queries.stored_run(db, run_id), tuple(events)

        self._store.ask(query, lambda found: deliver(*(found or (None, ()))))

    def find_earlier(
        self,
        deliver: Callable[[tuple[EarlierRun, ...]], None],
        *,
        name: str,
        fingerprint: str,
        uid: int,
        synthetic: bool,
    ) -> None:
        """Read what earlier runs left behind."""
        history = self._history

        def query(db: sqlite3.Connection) -> tuple[EarlierRun, ...]:
            kept = () if history is None else history.find(name, fingerprint)
            of = store_queries.Work(
                name=name, fingerprint=fingerprint, uid=uid, synthetic=synthetic
            )
            runs = store_queries.earlier_runs(db, of, limit=EARLIER_MAX)
            return (*kept, *reversed(runs))

        self._store.ask(query, lambda found: deliver(found or ()))

    def remember(self, name: str, fingerprint: str, left: EarlierRun) -> None:
        """Keep what a run leaves to later ones, beyond this store."""
        history = self._history
        if history is not None:
            self._store.ask(
                lambda _: history.add(name, fingerprint, left),
                lambda problem: self._trouble(problem) if problem else None,
            )


class ReaderJoint:
    """The log reader and its owner."""

    def __init__(self, post: Post, leave: Post) -> None:
        """Report through ``post``, and what can wait for other news through ``leave``."""
        self._post = post
        self._leave = leave
        self.owner = WorkerOwner(WorkerCommand(module=READER_MODULE), self._heard)

    def order(self, order: Order, fds: Sequence[int], generation: int) -> bool:
        """Send an order; False if that reader is gone."""
        return self.owner.send(encode(order), fds, generation=generation)

    def _heard(self, event: WorkerEvent) -> None:
        if isinstance(event, WorkerMessage):
            report = decode_report(event.body)
            tell = self._leave if isinstance(report, Beat) else self._post
            tell(ReaderTold(generation=event.generation, report=report))
        elif isinstance(event, WorkerStarted):
            self._post(ReaderStarted(generation=event.generation))
        elif isinstance(event, WorkerEnded):
            self._post(
                ReaderEnded(
                    generation=event.generation,
                    cause=event.cause.value,
                    touching=event.touching,
                    output_tail=event.output_tail,
                )
            )


class PluginJoint:
    """Third-party checks, evaluated in their worker."""

    def __init__(self, worker: Callable[[], PluginWorker | None], post: Post) -> None:
        """Ask the worker of the moment, proving again replaces it; verdicts go to ``post``."""
        self._worker = worker
        self._post = post

    def ask(self, check: str, subject: str, world: World) -> None:
        """Have a check evaluated."""
        worker = self._worker()
        if worker is None:
            return
        worker.host.evaluate_async(
            check,
            world,
            lambda verdict, error: self._post(
                WorkerVerdict(check=check, subject=subject, verdict=verdict, error=error)
            ),
        )

    def expire(self) -> None:
        """Answer for those that are past their deadline."""
        worker = self._worker()
        if worker is not None:
            worker.host.expire()


def on_request(post: Post) -> Callable[[Peer, Request, tuple[int, ...]], None]:
    """What the control server calls with a request."""
    return lambda peer, request, fds: post(
        Asked(conn=peer.conn, uid=peer.uid, pid=peer.pid, request=request, fds=fds)
    )


def on_left(post: Post) -> Callable[[int], None]:
    """What the control server calls when a client leaves."""
    return lambda conn: post(ClientLeft(conn=conn))


def looker(*, allow_fuse: bool) -> Callable[[int], str]:
    """What looks at a handed-over file; says what is wrong with it."""
    admission = Admission(allow_fuse=allow_fuse)

    def look(fd: int) -> str:
        refusal = admission.refusal(fd)
        return "" if refusal is None else f"{refusal.why.value} {refusal.detail}".strip()

    return look
