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
from pfid.policy.timed_steps import timed_steps
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
        seconds: the distribution of step times, its ``n`` 0 where too few steps were timed for
            one; None if no step was timed at all.
        dynamo: dynamo's counters, summed over the run as its reporters saw them change.
        problem: why there is no distribution: a code.
    """

    seconds: Said | None = None
    dynamo: Said | None = None
    problem: str | None = None


def run_steps(steps_dir: Path, logs: Sequence[RecordedLog]) -> RunSteps:
    """Read the steps of a run that has ended.

    What the run reported itself outranks its log, and a distribution outranks a few first steps.
    """
    files = _step_files(steps_dir)
    inside = _from_step_files(files) if files else RunSteps(problem="no_steps")
    if inside.problem is None:
        return inside
    seconds, problem = _from_log(logs)
    if problem is not None and (inside.seconds is not None or problem == "no_steps"):
        return inside
    return RunSteps(seconds=seconds, dynamo=inside.dynamo, problem=problem)


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
        self._begin()

    def _begin(self) -> None:
        self._statistics = StepStatistics()
        self._launches = LaunchWindows()
        self._first: StepEvent | None = None
        self._steps = 0

    def take(self, ordinal: int, events: Sequence[StepEvent]) -> None:
        for event in events:
            self._leading, counts, anew = hear(self._leading, ordinal, event)
            if anew:
                self._begin()
            if not counts:
                continue
            self._first = self._first or event
            self._steps += event.interval_steps
            timed = self._launches.take(event)
            if timed is not None:
                self._statistics.add(timed)

    def told(self) -> dict[str, Any] | None:
        """The figures, with the keys of ``pfid.trainer.step_time_summary`` and some more.

        A smoke run of one step has its first step and no distribution; one of a few steps that
        nobody waited for has a window that did not fill. Both are told as what they are.
        """
        if self._first is None:
            return None
        summary, report, rest = self._statistics.summary(), self._first.report, self._launches.rest
        figures = {
            "n": 0 if summary is None else summary.n,
            "first": self._first.seconds_per_step,
            "min": None if summary is None else summary.min_s,
            "p50": None if summary is None else summary.p50_s,
            "p90": None if summary is None else summary.p90_s,
            "p99": None if summary is None else summary.p99_s,
            "max": None if summary is None else summary.max_s,
            "unit": UNIT,
            "clock": self._first.clock.value,
            "interval_steps": None if summary is None else summary.interval_steps,
            "rank_error": None if summary is None else summary.rank_error,
            "steps": self._steps,
            "first_inside": None if report is None else report.inside_s,
            "window": None
            if rest is None
            else {"steps": rest.interval_steps, "seconds": rest.seconds},
        }
        return figures if timed_steps(figures) else None

    @property
    def problem(self) -> str | None:
        """Why there is no distribution."""
        if self._first is None:
            return "no_steps"
        return "too_few_steps" if self._statistics.summary() is None else None


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
        problem=reading.problem,
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
    """The leading writer of the run's logs; why it tells no distribution."""
    reading, unread = _Reading(), ""
    for ordinal, log in enumerate(logs):
        try:
            parser = LogParser()
            for chunk in _chunks(log):
                reading.take(ordinal, parser.feed(chunk))
            reading.take(ordinal, parser.finish())
        except OSError:
            unread = "log_unreadable"
        except _NotReadError as error:
            unread = str(error)
    told = reading.told()
    if told is None:
        return None, unread or reading.problem
    paths = ", ".join(log.path for log in logs)
    return Said(value=told, by=Source(kind="log", detail=paths)), reading.problem


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
