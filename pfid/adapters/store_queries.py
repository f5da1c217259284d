"""What is read from the state file."""

import sqlite3
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from pfid.domain.errors import StateError
from pfid.domain.transition import Transition
from pfid.policy.baseline import EarlierRun
from pfid.wire.stored import (
    GpuBody,
    RunBody,
    StepsBody,
    StoredEvent,
    StoredRun,
    StreamBody,
    UnreadRun,
    unpack,
)

LOOKED_THROUGH_MAX: Final = 1_000
"""Ended runs of one name that are looked through for some that left a baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """Everything a daemon needs to go on where it was.

    Attributes:
        runs: those that live, as far as was known, and those that ended a short while ago.
        box: hysteresis states of checks about the box, by check.
        last_event_id: 0 if there is none.
        events: the newest, oldest first.
        gpus: every GPU that was ever seen here.
        unread: runs that lived and whose row cannot be read.
        problems: everything else that could not be read, each named.
    """

    runs: tuple[StoredRun, ...] = ()
    box: dict[str, bytes] = field(default_factory=dict)
    last_event_id: int = 0
    events: tuple[StoredEvent, ...] = ()
    gpus: tuple[GpuBody, ...] = ()
    unread: tuple[UnreadRun, ...] = ()
    problems: tuple[str, ...] = ()


def restored(db: sqlite3.Connection, *, ended_after_s: float, events_max: int) -> Restored:
    """Read the state a new daemon starts from."""
    problems: list[str] = []
    rows = db.execute(
        "SELECT run_id, body FROM runs WHERE ended_at_s IS NULL OR ended_at_s > ?"
        " ORDER BY started_at_s",
        (ended_after_s,),
    ).fetchall()
    unread: list[UnreadRun] = []
    runs = [_run_or_unread(db, run_id, body, unread, problems) for run_id, body in rows]
    (last_id,) = db.execute("SELECT coalesce(max(event_id), 0) FROM events").fetchone()
    newest = db.execute(
        "SELECT event_id, uid, body FROM events ORDER BY event_id DESC LIMIT ?",
        (events_max,),
    ).fetchall()
    return Restored(
        runs=tuple(r for r in runs if r is not None),
        box=dict(db.execute("SELECT check_name, body FROM settlings").fetchall()),
        last_event_id=last_id,
        events=tuple(_events(reversed(newest), problems)),
        gpus=tuple(_gpus(db, problems)),
        unread=tuple(unread),
        problems=tuple(problems),
    )


def _run(db: sqlite3.Connection, run_id: str, body: bytes, problems: list[str]) -> StoredRun | None:
    try:
        return StoredRun(
            body=unpack(body, RunBody),
            streams=_streams(db, run_id, problems),
            steps=_steps(db, run_id, problems),
        )
    except StateError as error:
        problems.append(f"run {run_id}: {error}")
        return None


def _run_or_unread(
    db: sqlite3.Connection,
    run_id: str,
    body: bytes,
    unread: list[UnreadRun],
    problems: list[str],
) -> StoredRun | None:
    """The run; of one that lived and cannot be read, what its columns say is put by."""
    found: list[str] = []
    run = _run(db, run_id, body, found)
    columns = db.execute(
        "SELECT run_id, name, fingerprint, uid, synthetic, started_at_s FROM runs"
        " WHERE run_id = ? AND ended_at_s IS NULL",
        (run_id,),
    ).fetchone()
    if run is None and columns is not None:
        *known, problem = found
        problems += known
        unread.append(_unread(db, columns, problem))
    else:
        problems += found
    return run


def _unread(db: sqlite3.Connection, columns: tuple[Any, ...], problem: str) -> UnreadRun:
    run_id, name, fingerprint, uid, synthetic, started_at_s = columns
    unsaid: list[str] = []  # of a run that is named already
    return UnreadRun(
        run_id=run_id,
        name=name,
        fingerprint=fingerprint,
        uid=uid,
        synthetic=bool(synthetic),
        started_at_s=started_at_s,
        streams=_streams(db, run_id, unsaid),
        steps=_steps(db, run_id, unsaid),
        problem=problem,
    )


def _gpus(db: sqlite3.Connection, problems: list[str]) -> list[GpuBody]:
    found = []
    for uuid, body in db.execute("SELECT uuid, body FROM gpus ORDER BY uuid"):
        try:
            found.append(unpack(body, GpuBody))
        except StateError as error:
            problems.append(f"gpu {uuid}: {error}")
    return found


def _streams(db: sqlite3.Connection, run_id: str, problems: list[str]) -> dict[int, StreamBody]:
    found = {}
    sql = "SELECT ordinal, body FROM streams WHERE run_id = ? ORDER BY ordinal"
    for ordinal, body in db.execute(sql, (run_id,)):
        try:
            found[ordinal] = unpack(body, StreamBody)
        except StateError as error:
            problems.append(f"run {run_id}, stream {ordinal}: {error}")
    return found


def _steps(db: sqlite3.Connection, run_id: str, problems: list[str]) -> StepsBody | None:
    row = db.execute("SELECT body FROM steps WHERE run_id = ?", (run_id,)).fetchone()
    try:
        return None if row is None else unpack(row[0], StepsBody)
    except StateError as error:
        problems.append(f"run {run_id}, steps: {error}")
        return None


def _events(
    rows: "reversed[tuple[int, int | None, bytes]] | list[tuple[int, int | None, bytes]]",
    problems: list[str],
) -> list[StoredEvent]:
    found = []
    for event_id, uid, body in rows:
        try:
            transition = unpack(body, Transition)
        except StateError as error:
            problems.append(f"event {event_id}: {error}")
            continue
        found.append(StoredEvent(event_id=event_id, uid=uid, transition=transition))
    return found


def events_after(
    db: sqlite3.Connection, *, after_id: int, subject: str | None, synthetic: bool, limit: int
) -> list[StoredEvent]:
    """Events after an id, oldest first. ``synthetic`` adds those a self-test made."""
    where = ["event_id > ?"]
    values: list[object] = [after_id]
    if subject is not None:
        where.append("subject = ?")
        values.append(subject)
    if not synthetic:
        where.append("NOT synthetic")
    sql = (
        f"SELECT event_id, uid, body FROM events WHERE {' AND '.join(where)}"  # noqa: S608 - ours
        " ORDER BY event_id LIMIT ?"
    )
    return _events(db.execute(sql, (*values, limit)).fetchall(), [])


def stored_run(db: sqlite3.Connection, run_id: str) -> StoredRun | None:
    """One run, however long ago it ended; of one that cannot be read nothing is known."""
    row = db.execute("SELECT body FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    return None if row is None else _run(db, run_id, row[0], [])


class _Left(msgspec.Struct, frozen=True):
    """The part of a RunBody that later runs want; the others are passed over unread."""

    left: EarlierRun | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What runs must have in common to be held against each other."""

    name: str
    fingerprint: str
    uid: int
    synthetic: bool = False


def earlier_runs(db: sqlite3.Connection, of: Work, *, limit: int) -> list[EarlierRun]:
    """What ended runs of the same owner, name and fingerprint left, newest first.

    Runs that left nothing, or nothing to go by, take nobody's place: a night of starts that fail
    at once must not hide the good run before it.
    """
    rows = db.execute(
        "SELECT body FROM runs WHERE name = ? AND fingerprint = ? AND uid = ? AND synthetic = ?"
        " AND ended_at_s IS NOT NULL ORDER BY ended_at_s DESC LIMIT ?",
        (of.name, of.fingerprint, of.uid, of.synthetic, LOOKED_THROUGH_MAX),
    )
    found: list[EarlierRun] = []
    for (body,) in rows:
        try:
            left = unpack(body, _Left).left
        except StateError:
            continue  # an old run that cannot be read is no baseline; the others are
        if left is not None and left.passed:
            found.append(left)
        if len(found) >= limit:
            break
    return found
