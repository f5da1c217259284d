"""The state of an engine that has ended, read without writing.

An engine locks its state while it lives; a file that nobody has locked belongs to nobody any more.
What is shown of each check is the last thing it announced; of a run whose end the engine did
not live to see nothing is known.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pfid.adapters.store_queries import events_after
from pfid.domain.errors import StateError
from pfid.domain.gpu_past import GpuPast
from pfid.domain.run import OperatorStop, RunState
from pfid.domain.snapshot import RunView, VerdictView
from pfid.domain.transition import Transition
from pfid.domain.verdict import Entity
from pfid.policy.standing import unwatched
from pfid.wire.snapshots import Event
from pfid.wire.stored import RunBody, StepsBody, unpack
from pfid.wire.stored_views import gpus_of, run_view

EVENTS_MAX: Final = 100_000
_LOCK_WAIT_S: Final = 0.2
_RUNS: Final = (
    "SELECT runs.body, steps.body FROM runs LEFT JOIN steps USING (run_id) ORDER BY started_at_s"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedState:
    """What an engine left behind; by run: what its GPUs did, and who stopped it.

    ``cut_short`` are those whose end it saw without living to judge all that they wrote.
    """

    runs: tuple[RunView, ...]
    verdicts: tuple[VerdictView, ...]
    events: tuple[Event, ...]
    evidence: dict[str, list[str]]
    gpus: dict[str, tuple[GpuPast, ...]]
    stops: dict[str, OperatorStop]
    cut_short: tuple[str, ...]


def read_ended(path: Path) -> EndedState:
    """Read a state file.

    Raises:
        StateError: if it cannot be read, which includes that its engine lives.
    """
    if is_locked(path.with_name(path.name + ".lock")):
        raise StateError(f"{path}: its engine lives and does not answer")
    uri = f"file:{quote(str(path))}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=_LOCK_WAIT_S)) as db:
            rows = [_bodies(run, steps) for run, steps in db.execute(_RUNS)]
            stored = events_after(db, after_id=0, subject=None, synthetic=False, limit=EVENTS_MAX)
    except sqlite3.Error as error:
        raise StateError(f"{path} cannot be read: {error}") from error
    runs = tuple(run_view(body, kept) for body, kept in rows)
    events = tuple(Event(id=e.event_id, transition=e.transition) for e in stored)
    last = _last(events)
    open_ended = {view.run.run_id for view in runs if view.state is RunState.LOST}
    verdicts = (_verdict(transition) for transition in last)
    return EndedState(
        runs=runs,
        verdicts=tuple(unwatched(v) if v.entity.id in open_ended else v for v in verdicts),
        events=events,
        evidence={t.check: list(t.verdict.evidence) for t in last if t.verdict.evidence},
        gpus={body.run.run_id: gpus_of(body, kept) for body, kept in rows},
        stops={body.run.run_id: body.stop for body, _ in rows if body.stop is not None},
        cut_short=tuple(b.run.run_id for b, _ in rows if b.end is not None and not b.final),
    )


def is_locked(lock: Path, table: Path = Path("/proc/locks")) -> bool:
    """Whether somebody holds a lock on a file.

    Asks the kernel's table, because trying the lock would refuse it to an engine that starts at
    this moment. The inode decides: device numbers differ from ``stat`` on btrfs and overlays.
    """
    try:
        inode = lock.stat().st_ino
        rows = [line.split() for line in table.read_text().splitlines()]
    except OSError:
        return False
    return any(row[1] != "->" and row[5].endswith(f":{inode}") for row in rows if len(row) > 5)


def _bodies(run: bytes, steps: bytes | None) -> tuple[RunBody, StepsBody | None]:
    return unpack(run, RunBody), None if steps is None else unpack(steps, StepsBody)


def _last(events: tuple[Event, ...]) -> list[Transition]:
    """The newest transition of every check about everything it spoke about."""
    newest: dict[tuple[str, Entity], Transition] = {}
    for event in events:
        newest[event.transition.check, event.transition.entity] = event.transition
    return list(newest.values())


def _verdict(transition: Transition) -> VerdictView:
    verdict = transition.verdict
    return VerdictView(
        check=transition.check,
        stage="watch",
        entity=transition.entity,
        outcome=verdict.outcome,
        reason=verdict.reason,
        summary=verdict.summary,
        since_s=transition.at_s,
        last_run_s=transition.at_s,
        label=verdict.label,
        figures=verdict.figures,
    )
