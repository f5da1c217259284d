"""A user's runs that nobody answers for: their engine is only starting, or it is gone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.adapters.process_identity import machine_id
from pfid.adapters.run_records import RunRecords
from pfid.config.paths import engine_dir, user_state_dir
from pfid.domain.errors import StateError
from pfid.wire.record import RecordedEnd, RunRecord

STARTING_S: Final = 30.0
"""So long after its run's start or end an engine may still be coming up, or hear of the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """The latest run of its name, living or over, that no source knows.

    Attributes:
        run_id: its id.
        name: its name.
        started_at_s: wall time.
        sentence: what is known of its watching, and what to do; the same at each look.
    """

    run_id: str
    name: str
    started_at_s: float
    sentence: str

    def is_meant(self, wanted: str) -> bool:
        """Whether somebody who says this may mean it."""
        return wanted == self.name or (bool(wanted) and self.run_id.startswith(wanted))


def unanswered(
    environ: Mapping[str, str], run_dirs: Iterable[Path], known: frozenset[str], now_s: float
) -> list[Unanswered]:
    """Look through folders of runs that gave no answer.

    Args:
        environ: of the user.
        run_dirs: their folders.
        known: ids of runs that some source knows.
        now_s: wall time.
    """
    dirs = [folder for folder in run_dirs if folder.name not in known]
    if not dirs:
        return []
    from pfid.bootstrap.launch import BoxProcesses  # 30 ms that are seldom needed
    from pfid.launch.guard import is_standing

    records, processes = RunRecords(user_state_dir(environ, machine_id())), BoxProcesses()
    latest = {record.run_id for record in records.current()}
    found = []
    for folder in dirs:
        record = _read(records, folder.name)
        if record is None:
            continue
        lives = record.end is None and is_standing(record.process, processes).blocks
        if lives or record.run_id in latest:
            waits = record.launcher is not None and is_standing(record.launcher, processes).blocks
            sentence = _said(record, folder, now_s, lives=lives, waited_for=waits)
            found.append(_unanswered(record, sentence))
    return found


def _read(records: RunRecords, run_id: str) -> RunRecord | None:
    try:
        return records.read(run_id)
    except StateError:
        return None  # whoever launches the next of that name is told


def _unanswered(record: RunRecord, sentence: str) -> Unanswered:
    return Unanswered(
        run_id=record.run_id,
        name=record.name,
        started_at_s=record.started_at_s,
        sentence=sentence,
    )


def _said(record: RunRecord, run_dir: Path, now_s: float, *, lives: bool, waited_for: bool) -> str:
    log = engine_dir(run_dir) / "engine.log"
    if lives:
        who = f"{record.run_id} is running (pid {record.process.pid})"
        if 0 <= now_s - record.started_at_s < STARTING_S:
            return f"{who}; its engine is starting and knows nothing of it yet, ask again"
        return f"{who} and nobody who watches it answers; see {log}"
    if record.end is None and waited_for:
        return f"{record.run_id} is over; its launcher is about to tell how it ended, ask again"
    if record.end is None:
        return f"{record.run_id} is over and nobody saw how it ended; see {log}"
    who = f"{record.run_id} ended ({_in_words(record.end)})"
    if 0 <= now_s - record.end.at_s < STARTING_S:
        return f"{who}; its engine has not heard of it yet, ask again"
    return f"{who} and nobody watched it; see {log}"


def _in_words(end: RecordedEnd) -> str:
    return f"exit status {end.exit_code}" if end.signal is None else f"signal {end.signal}"
