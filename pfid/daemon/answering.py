"""Requests that only read: everybody's figures to everybody, evidence to its owner and root."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from pfid.daemon.core import Core, public
from pfid.daemon.ledger import gpu_pasts
from pfid.daemon.long_ended import evidence, last_evidence, last_verdicts
from pfid.daemon.messages import Asked, EventsFound, OldRunFound
from pfid.daemon.publishing import Publishing
from pfid.daemon.refusal import ROOT_UID, RefusalError
from pfid.daemon.tracked import TrackedRun
from pfid.domain.names import RunId
from pfid.domain.run import OperatorStop
from pfid.domain.transition import Origin
from pfid.wire.control import EventsReply, GetEvents, GetRun, RunReply
from pfid.wire.stored import StoredEvent
from pfid.wire.stored_views import gpus_of, run_view

EVENTS_MAX: Final = 10_000
WAIT_MAX_S: Final = 300.0
RUN_EVENTS_MAX: Final = 200


@dataclass(slots=True)
class Follower:
    """A client that waits for the next event.

    Nothing up to ``looked_to`` is news to it; while the store is ``asking``, nothing newer may
    overtake its answer.
    """

    conn: int
    uid: int
    request: GetEvents
    until_s: float
    looked_to: int
    asking: bool = False


class Answering:
    """Answers questions."""

    def __init__(self, core: Core, publishing: Publishing) -> None:
        """Answer from ``core``."""
        self._core = core
        self._publishing = publishing
        self._followers: dict[int, Follower] = {}
        self.on_disk = 0
        """The last event that may be told."""

    def run(self, asked: Asked, request: GetRun) -> RunReply | None:
        """One run; None if the store has to be asked.

        Raises:
            RefusalError: never for a run that is known.
        """
        run = self._core.runs.get(RunId(request.run_id))
        if run is None:
            self._ask_store(asked, request.run_id)
            return None
        private = asked.uid in {ROOT_UID, run.run.uid}
        events = [e for e in self._core.events if e.transition.entity.id == run.run_id]
        return RunReply(
            run=self._publishing.view(run),
            verdicts=[j.view for j in run.judged.values() if j.view is not None],
            events=shown(events[-RUN_EVENTS_MAX:]),
            evidence=_evidence(run) if private else None,
            stop=_stop(run.stop, private=private),
            gpus=gpu_pasts(run),
        )

    def _ask_store(self, asked: Asked, run_id: str) -> None:
        core = self._core
        core.ports.store.find_run(
            lambda run, events: core.post(
                OldRunFound(conn=asked.conn, uid=asked.uid, run_id=run_id, found=run, events=events)
            ),
            run_id,
        )

    def old_run(self, found: OldRunFound) -> RunReply:
        """A run that ended longer ago.

        Raises:
            RefusalError: if nobody knows it.
        """
        if found.found is None:
            raise RefusalError("no_such_run", f"no run {found.run_id[:63]!r} is known here")
        body, steps = found.found.body, found.found.steps
        private = found.uid in {ROOT_UID, body.run.uid}
        return RunReply(
            run=run_view(body, steps),
            verdicts=last_verdicts(body, self._core.checks),
            events=shown(found.events),
            evidence=last_evidence(body) if private else None,
            stop=_stop(body.stop, private=private),
            gpus=gpus_of(body, steps),
        )

    def events(self, asked: Asked, request: GetEvents) -> EventsReply | None:
        """Events after an id; None if the answer comes later, from the store or with an event."""
        wait_s = min(max(request.wait_s, 0.0), WAIT_MAX_S)
        until_s = self._core.monotonic_s() + wait_s
        follower = Follower(asked.conn, asked.uid, request, until_s, request.after_id)
        self._followers[asked.conn] = follower
        if not self._in_memory(request.after_id):
            self._ask_for_events(follower)
            return None
        return self._told(follower, self._remembered(follower))

    def _in_memory(self, after_id: int) -> bool:
        """Whether the newest events reach back that far."""
        events = self._core.events
        oldest = events[0].event_id if events else self.on_disk + 1
        return after_id >= oldest - 1

    def _remembered(self, follower: Follower) -> tuple[StoredEvent, ...]:
        request = follower.request
        news = takewhile(lambda e: e.event_id > follower.looked_to, reversed(self._core.events))
        wanted = [
            e
            for e in news
            if e.event_id <= self.on_disk
            and (request.run_id is None or e.transition.entity.id == request.run_id)
            and (request.synthetic or e.transition.origin is Origin.REAL)
        ]
        wanted.reverse()
        return tuple(wanted[: min(max(request.limit, 1), EVENTS_MAX)])

    def _told(self, follower: Follower, events: tuple[StoredEvent, ...]) -> EventsReply | None:
        """Reply with events, or go on waiting for the first one."""
        if not events and self._core.monotonic_s() < follower.until_s:
            self._core.due.set(("follow", follower.conn), follower.until_s)
            return None
        del self._followers[follower.conn]
        self._core.due.drop(("follow", follower.conn))
        last = events[-1].event_id if events else follower.request.after_id
        return EventsReply(events=shown(events, follower.uid), last_id=last)

    def _ask_for_events(self, follower: Follower) -> None:
        core = self._core
        request = follower.request
        after_id, follower.looked_to = follower.looked_to, self.on_disk
        follower.asking = True
        core.ports.store.find_events(
            lambda events: core.post(EventsFound(conn=follower.conn, events=events)),
            after_id=after_id,
            subject=request.run_id,
            synthetic=request.synthetic,
            limit=min(max(request.limit, 1), EVENTS_MAX),
        )

    def found(self, found: EventsFound) -> EventsReply | None:
        """The store's answer; None if the client goes on waiting.

        Raises:
            RefusalError: if the store cannot be read.
        """
        follower = self._followers.get(found.conn)
        if follower is None:
            return None
        follower.asking = False
        if found.events is None:
            del self._followers[found.conn]
            raise RefusalError("cannot_write", "the state file cannot be read", "see pfid status")
        return self._told(follower, found.events or self._remembered(follower))

    def committed(self, last_event: int) -> None:
        """Events up to that one are on disk: whoever waits is told."""
        if last_event <= self.on_disk:
            return
        self.on_disk = last_event
        for follower in list(self._followers.values()):
            self.waited_enough(follower.conn)

    def waited_enough(self, conn: int) -> None:
        """Look whether there is something for a follower now, or whether its time is over."""
        follower = self._followers.get(conn)
        if follower is None or follower.asking:
            return
        if not self._in_memory(follower.looked_to):
            self._ask_for_events(follower)
            return
        reply = self._told(follower, self._remembered(follower))
        if reply is not None:
            self._core.ports.replies.reply(conn, reply)

    def left(self, conn: int) -> None:
        """A client hung up."""
        self._followers.pop(conn, None)
        self._core.due.drop(("follow", conn))


def shown(events: Iterable[StoredEvent], uid: int | None = None) -> list[dict[str, Any]]:
    """Events as a client sees them; evidence only for the run's owner and root."""
    return [
        {
            "id": e.event_id,
            "transition": e.transition
            if uid == ROOT_UID or (uid is not None and uid == e.uid)
            else public(e.transition),
        }
        for e in events
    ]


def _evidence(run: TrackedRun) -> dict[str, list[str]]:
    return evidence((name, judged.settling) for name, judged in run.judged.items())


def _stop(stop: OperatorStop | None, *, private: bool) -> OperatorStop | None:
    if stop is None or private:
        return stop
    return OperatorStop(uid=stop.uid, username=stop.username, why="", at_s=stop.at_s)
