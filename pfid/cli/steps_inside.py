"""The report of ``pfid steps`` on a step file, whose lines were written inside the training."""

from collections.abc import Iterable
from typing import Any, Final

from pfid.analysis.launch_windows import LaunchWindows
from pfid.analysis.segment_figures import Segment
from pfid.cli.steps_report import LogReport, Origin, put_together, remarks, segment_json
from pfid.domain.step import StepClock, StepEvent
from pfid.formats.attempts import Place
from pfid.formats.log_notes import LogNote
from pfid.formats.steps_file import StepsFileParser
from pfid.formats.untrusted import printable

DIALECT: Final = "step_file"
_WRITER_MAX_CHARS: Final = 80


class _Writer:
    """The steps of one optimizer of one process."""

    __slots__ = ("_segment", "_windows", "first_line")

    def __init__(self, first: StepEvent, line: int) -> None:
        self.first_line = line
        self._segment = Segment(first)
        self._windows = LaunchWindows()
        self._windows.take(first)

    def add(self, event: StepEvent) -> None:
        """Take its next step; those timed at launch are put together first."""
        counted = self._windows.take(event)
        if counted is not None:
            self._segment.add(counted)

    def told(self, name: str, place: Place) -> tuple[dict[str, Any], Iterable[LogNote]]:
        """Return the segment, and what must be said of it."""
        origin = Origin(DIALECT, DIALECT, self.first_line)
        figures = self._segment.figures()
        return segment_json(name, origin, place, figures), remarks(origin, figures)


def inside_report(name: str, blocks: Iterable[bytes]) -> LogReport:
    """Read a step file and put together what came out, one segment a process and optimizer."""
    parser = StepsFileParser()
    writers: dict[str, _Writer] = {}
    for line, event in _events(parser, blocks):
        writer = writers.get(event.writer)
        if writer is None:
            writers[event.writer] = _Writer(event, line)
        else:
            writer.add(event)
    rows, notes = [], list(_said(parser))
    for number, (key, writer) in enumerate(writers.items(), 1):
        row, more = writer.told(name, Place(attempt=1, writer=number))
        rows.append(row)
        notes += more
        notes.append(LogNote("writer", writer.first_line, _writer(number, key, row["clock"])))
    return put_together(name, rows, notes)


def _events(parser: StepsFileParser, blocks: Iterable[bytes]) -> Iterable[tuple[int, StepEvent]]:
    """Yield every step with the 1-based number of its line."""
    number = 1
    for block in blocks:
        *ends, rest = block.split(b"\n")
        for end in ends:
            for event in parser.feed(end + b"\n"):
                yield number, event
            number += 1
        parser.feed(rest)
    for event in parser.finish():
        yield number, event


def _said(parser: StepsFileParser) -> Iterable[LogNote]:
    inside = parser.notes.inside
    if parser.bad_lines:
        yield LogNote("bad_lines", None, f"{parser.bad_lines} lines are neither a step nor a note")
    if inside.lost:
        yield LogNote("lost_lines", None, f"{inside.lost} reports could not be written")
    if inside.given_up:
        yield LogNote("given_up", None, "the reporter gave up before the end")
    if parser.notes.limit is not None:
        limit = parser.notes.limit
        yield LogNote("recompile_limit", limit.first_line, f"{limit.line}, {limit.count} times")


def _writer(number: int, key: str, clock: str) -> str:
    """Say who writer NUMBER is, and what its seconds are."""
    _, _, who = key.partition("/")
    by = printable(who, _WRITER_MAX_CHARS) or "one process"
    what = (
        "elapsed time over many steps, each timed at its launch"
        if clock == StepClock.ASYNCHRONOUS.value
        else "from the end of a step to the end of the next, waiting for data within"
    )
    return f"writer {number} is {by} (rank/pid.optimizer): {what}"
