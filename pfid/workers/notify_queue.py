"""The queue is the daemon's own history of events: it is on disk before anybody is told.

What a channel has been told of is a number in a small file; nothing is lost by a restart of either
process, and a notice is told twice at worst, under the same event's id.
"""

import json
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

from pfid.domain.errors import StateError
from pfid.domain.outcome import Outcome
from pfid.domain.run import Run
from pfid.domain.transition import Transition
from pfid.policy.telling import Happened, begins_a_run, worth_telling
from pfid.wire.stored import RunBody, unpack

BATCH: Final = 100
_NEXT: Final = (
    "SELECT event_id, body FROM events WHERE event_id > ? AND synthetic = 0"
    " ORDER BY event_id LIMIT ?"
)
_RUN: Final = "SELECT body FROM runs WHERE run_id = ?"
_EARLIER: Final = (
    "SELECT body FROM runs WHERE name = ? AND uid = ? AND synthetic = 0 AND started_at_s < ?"
    " AND ended_at_s IS NOT NULL ORDER BY started_at_s DESC LIMIT 1"
)
_ABOUT: Final = (
    "SELECT event_id, body FROM events WHERE subject = ? AND event_id < ? AND synthetic = 0"
    " ORDER BY event_id"
)
_LAST: Final = "SELECT COALESCE(MAX(event_id), 0) FROM events"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """An event that nobody can be told of: its row cannot be read, and never will be."""

    event_id: int
    problem: str


class EventQueue:
    """Events of a state file, and how far each channel has come; for several threads."""

    def __init__(self, state_file: Path, cursors: Path) -> None:
        """Take both files; the state file is opened for reading alone."""
        self._state_file = state_file
        self._cursors = cursors
        self._lock = Lock()
        self._told = _read(cursors)

    def next(self, channel: str) -> list[Happened | Unread]:
        """The oldest events that a channel was not told of, oldest first.

        A channel that is new begins with what happens from now on. A state file that was made
        anew counts from the beginning.

        Raises:
            sqlite3.Error: if the file cannot be read now.
        """
        uri = f"{self._state_file.as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=5.0)) as state:
            (last,) = state.execute(_LAST).fetchone()
            after = self._told.get(channel)
            if after is None:
                self.told(channel, last)
                return []
            rows = state.execute(_NEXT, (after if after <= last else 0, BATCH)).fetchall()
            return [_queued(state, event_id, body) for event_id, body in rows]

    def told(self, channel: str, event_id: int) -> None:
        """Keep how far a channel has come; on disk when this returns."""
        with self._lock:
            self._told[channel] = event_id
            beside = self._cursors.with_name(self._cursors.name + ".new")
            with beside.open("w", encoding="utf-8") as file:
                json.dump(self._told, file)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self._cursors)


def _queued(state: sqlite3.Connection, event_id: int, body: bytes) -> Happened | Unread:
    try:
        transition = unpack(body, Transition)
    except StateError as error:
        return Unread(event_id=event_id, problem=str(error))
    return _happened(state, event_id, transition)


def _happened(state: sqlite3.Connection, event_id: int, transition: Transition) -> Happened:
    """The event with what has to be known of runs, asked only where somebody may be told."""
    begins = begins_a_run(transition)
    if not begins and not worth_telling(transition):
        return Happened(event_id=event_id, transition=transition)
    run = _run(state.execute(_RUN, (transition.entity.id,)).fetchone())
    earlier, unread = None, list[str]()
    if begins and run is not None:
        earlier = _run(state.execute(_EARLIER, (run.name, run.uid, run.started_at_s)).fetchone())
    return Happened(
        event_id=event_id,
        transition=transition,
        run=run,
        earlier=earlier,
        failing=() if earlier is None else _failing(state, earlier.run_id, event_id, unread),
        unread=tuple(unread),
    )


def _failing(
    state: sqlite3.Connection, run_id: str, before_id: int, unread: list[str]
) -> tuple[Transition, ...]:
    """What was last said of a run, each a failure."""
    newest: dict[str, Transition] = {}
    for event_id, body in state.execute(_ABOUT, (run_id, before_id)):
        try:
            transition = unpack(body, Transition)
        except StateError as error:
            unread.append(f"event {event_id} of {run_id}: {error}")
            continue
        newest[transition.check] = transition
    return tuple(t for t in newest.values() if t.verdict.outcome is Outcome.FAIL)


def _run(row: tuple[bytes] | None) -> Run | None:
    """Who it was; a run that is forgotten, or whose row cannot be read, withholds no notice."""
    try:
        return None if row is None else unpack(row[0], RunBody).run
    except StateError:
        return None


def _read(path: Path) -> dict[str, int]:
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    known = held.items() if isinstance(held, dict) else ()
    return {name: at for name, at in known if isinstance(at, int)}
