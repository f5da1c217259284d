"""Tables of the state file, and the one statement behind each kind of change."""

from typing import Any, Final

import msgspec

from pfid.wire.stored import (
    Change,
    DropGpu,
    DropStreams,
    EndRun,
    Expire,
    PutEvent,
    PutGpu,
    PutRun,
    PutSettling,
    PutSteps,
    PutStream,
)

VERSION: Final = 1
TABLES: Final = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY, name TEXT NOT NULL, fingerprint TEXT NOT NULL, uid INTEGER NOT NULL,
    synthetic INTEGER NOT NULL, started_at_s REAL NOT NULL, ended_at_s REAL, body BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_by_name ON runs (name, ended_at_s);
CREATE INDEX IF NOT EXISTS runs_by_end ON runs (ended_at_s);
CREATE TABLE IF NOT EXISTS streams (
    run_id TEXT NOT NULL, ordinal INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (run_id, ordinal)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS steps (run_id TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS settlings (check_name TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS events (
    event_id INTEGER PRIMARY KEY, subject TEXT NOT NULL, uid INTEGER, synthetic INTEGER NOT NULL,
    at_s REAL NOT NULL, body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS gpus (uuid TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS events_by_subject ON events (subject, event_id);
"""

Statement = tuple[str, tuple[Any, ...]]

_PUT: Final[dict[type[Change], str]] = {
    PutRun: "REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    PutStream: "REPLACE INTO streams VALUES (?, ?, ?)",
    PutSteps: "REPLACE INTO steps VALUES (?, ?)",
    PutSettling: "REPLACE INTO settlings VALUES (?, ?)",
    PutGpu: "REPLACE INTO gpus VALUES (?, ?)",
    PutEvent: "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?)",
}
"""Columns stand in the order of the change's fields."""


def statements(change: Change) -> list[Statement]:
    """Return what to execute for one change, in order."""
    if (put := _PUT.get(type(change))) is not None:
        return [(put, msgspec.structs.astuple(change))]
    if isinstance(change, DropStreams):
        return [("DELETE FROM streams WHERE run_id = ?", (change.run_id,))]
    if isinstance(change, DropGpu):
        return [("DELETE FROM gpus WHERE uuid = ?", (change.uuid,))]
    if isinstance(change, EndRun):
        return [("UPDATE runs SET ended_at_s = 0 WHERE run_id = ?", (change.run_id,))]
    if isinstance(change, Expire):
        return _expire(change)
    raise TypeError(f"no statement is known for {type(change).__name__}")


def key(change: Change) -> tuple[Any, ...]:
    """What a later change of the same key makes void; used while nothing can be written."""
    if isinstance(change, PutEvent):  # of all the most, and somebody waits for them
        return ("PutEvent", change.event_id)
    match change:
        case PutRun(run_id=r) | PutSteps(run_id=r) | DropStreams(run_id=r) | EndRun(run_id=r):
            return (type(change).__name__, r)
        case PutStream(run_id=r, ordinal=o):
            return ("PutStream", r, o)
        case PutGpu(uuid=u) | DropGpu(uuid=u):
            return ("Gpu", u)
        case PutSettling(check=c):
            return ("PutSettling", c)
        case Expire():
            return ("Expire",)


def _expire(change: Expire) -> list[Statement]:
    runs = "SELECT run_id FROM runs WHERE ended_at_s < ?"
    ended = (change.runs_ended_before_s,)
    return [
        (f"DELETE FROM streams WHERE run_id IN ({runs})", ended),  # noqa: S608 - our own constant
        (f"DELETE FROM steps WHERE run_id IN ({runs})", ended),  # noqa: S608 - likewise
        ("DELETE FROM runs WHERE ended_at_s < ?", ended),
        ("DELETE FROM events WHERE at_s < ?", (change.events_before_s,)),
    ]
