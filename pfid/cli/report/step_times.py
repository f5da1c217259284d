"""Every step of a run in order, out of its own files; the daemon keeps the last few only.

The first step is left out by position, as in every other figure: it holds the compile.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from pfid.adapters.process_identity import machine_id
from pfid.adapters.run_records import RunRecords
from pfid.analysis.launch_windows import LaunchWindows
from pfid.cli.log_files import BLOCK_BYTES, open_log
from pfid.config.paths import steps_dir, user_state_dir
from pfid.domain.errors import PfidError, why
from pfid.domain.step import Phase, StepEvent
from pfid.formats.log_stream import LogParser
from pfid.formats.steps_file import StepsFileParser
from pfid.policy.leading_writer import Leading, hear


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


def reported_times(environ: Mapping[str, str], run_id: str) -> tuple[float, ...]:
    """Seconds of every step as this user's run reported them from inside; () if it did not.

    The lowest rank that reports speaks for all, its first writer first, as the daemon has it.
    """
    try:
        folder = steps_dir(RunRecords(user_state_dir(environ, machine_id())).run_dir(run_id))
        files = sorted(folder.glob("*.jsonl"), key=lambda file: (len(file.name), file.name))
        events = [event for file in files for event in _reported(file)]
    except (PfidError, OSError):
        return ()
    return _leading(events)


def _reported(file: Path) -> list[StepEvent]:
    parser, events = StepsFileParser(), []
    with file.open("rb") as lines:
        while block := lines.read(BLOCK_BYTES):
            events += parser.feed(block)
    return events + parser.finish()


def _leading(events: Sequence[StepEvent]) -> tuple[float, ...]:
    leading, launches = Leading(), LaunchWindows()
    heard: list[StepEvent] = []
    for event in events:
        leading, counts, anew = hear(leading, 0, event)
        if anew:
            heard, launches = [], LaunchWindows()
        whole = launches.take(event) if counts else None
        if whole is not None:
            heard.append(whole)
    return _after_the_first(heard)


def _after_the_first(events: Sequence[StepEvent]) -> tuple[float, ...]:
    """Seconds of every training step but the first event."""
    return tuple(
        event.seconds_per_step
        for event in events[1:]
        if event.phase is Phase.TRAIN
        and event.seconds_per_step is not None
        and isfinite(event.seconds_per_step)
    )


def step_times(logs: Sequence[Text]) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Seconds of every training step in these logs, and what could not be read."""
    events: list[StepEvent] = []
    problems: list[str] = []
    for text in logs:
        try:
            events += _of(text)
        except (OSError, EOFError) as problem:
            problems.append(
                f"{text.path}: cannot be read ({why(problem)}); only the last steps are shown"
            )
    return _after_the_first(events), tuple(problems)


def _of(text: Text) -> list[StepEvent]:
    parser = LogParser()
    events = []
    with closing(open_log(str(text.path))) as log:
        log.read(text.begins_at)
        while block := log.read(BLOCK_BYTES):
            events += parser.feed(block, None)
    return events + parser.finish()
