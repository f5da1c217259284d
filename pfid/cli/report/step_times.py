"""Every step of a run in order, out of its own log; the daemon keeps the last few only."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pfid.adapters.process_identity import machine_id
from pfid.adapters.run_records import RunRecords
from pfid.cli.log_files import BLOCK_BYTES, open_log
from pfid.config.paths import user_state_dir
from pfid.domain.errors import PfidError
from pfid.domain.step import Phase
from pfid.formats.log_stream import LogParser


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A log, and the offset at which the run's own text begins."""

    path: Path
    begins_at: int = 0


def recorded_logs(environ: Mapping[str, str], run_id: str) -> tuple[Text, ...]:
    """Where this user's launcher put the run's output; nothing for a stranger's run."""
    try:
        record = RunRecords(user_state_dir(environ, machine_id())).read(run_id)
    except (PfidError, OSError):
        return ()
    logs = record.logs[:1] if record is not None else []
    return tuple(Text(path=Path(log.path), begins_at=log.begins_at) for log in logs)


def step_times(logs: Sequence[Text]) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Seconds of every training step in these logs, and what could not be read."""
    timed: list[float] = []
    problems: list[str] = []
    for text in logs:
        try:
            timed += _of(text)
        except (OSError, EOFError) as problem:
            problems.append(
                f"{text.path}: cannot be read ({problem}); only the last steps are shown"
            )
    return tuple(timed), tuple(problems)


def _of(text: Text) -> list[float]:
    parser = LogParser()
    events = []
    with closing(open_log(str(text.path))) as log:
        log.read(text.begins_at)
        while block := log.read(BLOCK_BYTES):
            events += parser.feed(block, None)
    events += parser.finish()
    return [
        event.seconds_per_step
        for event in events
        if event.phase is Phase.TRAIN and event.seconds_per_step is not None
    ]
