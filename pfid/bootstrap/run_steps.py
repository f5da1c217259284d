"""What a run's steps came to, read once when it is over: from its step files, else from its log."""

import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from pfid.adapters.file_identity import file_id
from pfid.analysis.launch_windows import LaunchWindows
from pfid.analysis.step_statistics import StepStatistics
from pfid.domain.provenance import Source
from pfid.domain.step import StepEvent
from pfid.formats.log_stream import LogParser
from pfid.formats.steps_file import StepsFileParser
from pfid.policy.leading_writer import Leading, hear
from pfid.policy.provenance_fields import Said
from pfid.wire.record import RecordedLog

UNIT: Final = "seconds_per_optimizer_step"
READ_MAX_BYTES: Final = 2 << 30
"""A longer log is left to ``pfid steps``: nobody waits for it at the end of a run."""
_BLOCK_BYTES: Final = 1 << 20
_LINE_MAX_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSteps:
    """What can be told.

    Attributes:
        seconds: the distribution of step times; None if there is none.
        dynamo: dynamo's counters, summed over the run as its reporters saw them change.
        problem: why there is no distribution: a code.
    """

    seconds: Said | None = None
    dynamo: Said | None = None
    problem: str | None = None


def run_steps(steps_dir: Path, logs: Sequence[RecordedLog]) -> RunSteps:
    """Read the steps of a run that has ended."""
    files = _step_files(steps_dir)
    if files:
        told = _from_step_files(files)
        if told.seconds is not None:
            return told
        dynamo = told.dynamo
    else:
        dynamo = None
    seconds, problem = _from_log(logs)
    return RunSteps(seconds=seconds, dynamo=dynamo, problem=problem)


def _step_files(folder: Path) -> list[Path]:
    """Those with something in them, the lowest rank first."""
    try:
        found = [p for p in folder.iterdir() if p.suffix == ".jsonl" and p.stat().st_size]
    except OSError:
        return []
    return sorted(found, key=lambda p: (len(p.name), p.name))


class _Reading:
    """Steps of the leading writer, as the daemon counts them."""

    def __init__(self) -> None:
        self._leading = Leading()
        self._statistics = StepStatistics()
        self._launches = LaunchWindows()
        self._clock = ""

    def take(self, ordinal: int, events: Sequence[StepEvent]) -> None:
        for event in events:
            self._leading, counts, anew = hear(self._leading, ordinal, event)
            if anew:
                self._statistics = StepStatistics()
                self._launches = LaunchWindows()
            timed = self._launches.take(event) if counts else None
            if timed is not None:
                self._statistics.add(timed)
                self._clock = timed.clock.value

    def told(self) -> dict[str, Any] | None:
        """The figures, with the keys of ``pfid.trainer.step_time_summary``."""
        summary = self._statistics.summary()
        if summary is None:
            return None
        return {
            "n": summary.n,
            "first": summary.first_s,
            "min": summary.min_s,
            "p50": summary.p50_s,
            "p90": summary.p90_s,
            "p99": summary.p99_s,
            "max": summary.max_s,
            "unit": UNIT,
            "clock": self._clock,
            "interval_steps": summary.interval_steps,
            "rank_error": summary.rank_error,
        }


def _from_step_files(files: Sequence[Path]) -> RunSteps:
    reading, dynamo = _Reading(), Counter[str]()
    for ordinal, file in enumerate(files):
        parser = StepsFileParser()
        with suppress(OSError), file.open("rb") as opened:
            while line := opened.readline(_LINE_MAX_BYTES):
                reading.take(ordinal, parser.feed(line))
                if b'"dynamo"' in line:
                    dynamo.update(_dynamo(line))
            reading.take(ordinal, parser.finish())
    by = Source(kind="step_files", detail=f"{len(files)} files")
    told = reading.told()
    return RunSteps(
        seconds=None if told is None else Said(value=told, by=by),
        dynamo=Said(value=dict(sorted(dynamo.items())), by=by) if dynamo else None,
    )


def _dynamo(line: bytes) -> dict[str, int]:
    try:
        changes = msgspec.json.decode(line).get("dynamo")
    except (msgspec.DecodeError, AttributeError):
        return {}
    if not isinstance(changes, dict):
        return {}
    return {str(k): v for k, v in changes.items() if isinstance(v, int) and v >= 0}


def _from_log(logs: Sequence[RecordedLog]) -> tuple[Said | None, str | None]:
    """The leading writer of the run's logs; why it says nothing."""
    reading = _Reading()
    problem = "no_steps"
    for ordinal, log in enumerate(logs):
        try:
            parser = LogParser()
            for chunk in _chunks(log):
                reading.take(ordinal, parser.feed(chunk))
            reading.take(ordinal, parser.finish())
        except OSError:
            problem = "log_unreadable"
        except _NotReadError as error:
            problem = str(error)
    told = reading.told()
    if told is None:
        return None, problem
    paths = ", ".join(log.path for log in logs)
    return Said(value=told, by=Source(kind="log", detail=paths)), None


class _NotReadError(Exception):
    """Why a log is not read; a code."""


def _chunks(log: RecordedLog) -> Iterator[bytes]:
    descriptor = os.open(log.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _NotReadError("log_not_regular")
        if log.file_id and log.file_id != file_id(descriptor):
            raise _NotReadError("log_moved")
        if found.st_size - log.begins_at > READ_MAX_BYTES:
            raise _NotReadError("log_too_long")
        at = log.begins_at
        while at < found.st_size and (chunk := os.pread(descriptor, _BLOCK_BYTES, at)):
            at += len(chunk)
            yield chunk
    finally:
        os.close(descriptor)
