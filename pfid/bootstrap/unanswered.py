"""A user's living runs that nobody answers for: their engine is only starting, or it is gone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.adapters.process_identity import machine_id
from pfid.adapters.run_records import RunRecords
from pfid.config.paths import engine_dir, user_state_dir
from pfid.domain.errors import StateError
from pfid.wire.record import RunRecord

STARTING_S: Final = 30.0
"""So long after its start a run's engine may still be coming up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """A run that lives and that no source knows.

    Attributes:
        run_id: its id.
        name: its name.
        sentence: what is known of its watching, and what to do; the same at each look.
    """

    run_id: str
    name: str
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
    found = []
    for folder in dirs:
        record = _read(records, folder.name)
        living = record is not None and record.end is None
        if record is not None and living and is_standing(record.process, processes).blocks:
            found.append(_said(record, folder, now_s))
    return found


def _read(records: RunRecords, run_id: str) -> RunRecord | None:
    try:
        return records.read(run_id)
    except StateError:
        return None  # whoever launches the next of that name is told


def _said(record: RunRecord, run_dir: Path, now_s: float) -> Unanswered:
    who = f"{record.run_id} is running (pid {record.process.pid})"
    if 0 <= now_s - record.started_at_s < STARTING_S:
        sentence = f"{who}; its engine is starting and knows nothing of it yet, ask again"
    else:
        log = engine_dir(run_dir) / "engine.log"
        sentence = f"{who} and nobody who watches it answers; see {log}"
    return Unanswered(run_id=record.run_id, name=record.name, sentence=sentence)
