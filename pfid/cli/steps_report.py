"""The report of ``pfid steps`` on one log: segments as JSON has them, notes, and table rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from pfid.analysis.segment_figures import FEW, Segment, SegmentFigures
from pfid.domain.step import StepClock
from pfid.formats.attempts import Place, places
from pfid.formats.log_notes import LogNote, log_notes
from pfid.formats.log_stream import LogParser
from pfid.policy.masking import mask_shown

UNIT: Final = "seconds_per_optimizer_step"
COARSE_BELOW_S: Final = 10.0
"""Where a clock of whole seconds makes a step more than 10 % uncertain."""
COLUMNS: Final = (
    "attempt",
    "writer",
    "dialect",
    "clock",
    "steps",
    "n",
    "per value",
    "first",
    "min",
    "p50",
    "p90",
    "p99",
    "max",
)


class Origin(NamedTuple):
    """Where a segment comes from.

    Attributes:
        dialect: how its lines are written.
        key: dialect and bar.
        first_line: 1-based.
        start_index: counter at which its first interval begins, where that is known.
    """

    dialect: str
    key: str
    first_line: int
    start_index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReport:
    """One log, read.

    Attributes:
        name: as the user gave it.
        segments: one object a segment (DESIGN, section 9).
        notes: in order of their lines.
    """

    name: str
    segments: tuple[dict[str, Any], ...]
    notes: tuple[LogNote, ...]


def report_of(name: str, parser: LogParser, blocks: Iterable[bytes]) -> LogReport:
    """Feed a log to its parser and put together what came out."""
    segments: dict[str, Segment] = {}
    for block in blocks:
        _sort(segments, parser.feed(block))
    _sort(segments, parser.finish())
    rows, notes = [], list(log_notes(parser))
    numbered = places(parser.series())
    for series in parser.series():
        segment = segments.get(series.writer)
        if segment is not None:
            figures = segment.figures()
            origin = Origin(series.dialect, series.key, series.first_line, series.start_index)
            rows.append(segment_json(name, origin, numbered[series.number], figures))
            notes += remarks(origin, figures)
    return put_together(name, rows, notes)


def put_together(name: str, rows: list[dict[str, Any]], notes: list[LogNote]) -> LogReport:
    """Return the report, its notes in the order of their lines."""
    if not rows:
        notes.append(LogNote("no_steps", None, "no step line was found"))
    notes.sort(key=lambda note: (note.line is None, note.line or 0))
    # A note may quote a line of the log, and a report is shown to others.
    shown = tuple(note._replace(text=mask_shown(note.text)) for note in notes)
    return LogReport(name=name, segments=tuple(rows), notes=shown)


def _sort(segments: dict[str, Segment], events: Iterable[Any]) -> None:
    for event in events:
        segment = segments.get(event.writer)
        if segment is None:
            segments[event.writer] = Segment(event)
        else:
            segment.add(event)


def segment_json(
    name: str, origin: Origin, place: Place, figures: SegmentFigures
) -> dict[str, Any]:
    """Return one segment as JSON has it."""
    return {
        "log": name,
        "dialect": origin.dialect,
        "attempt": place.attempt,
        "writer": place.writer,
        "clock": figures.clock.value,
        "first_line": origin.first_line,
        "first_step": _first_step(origin, figures),
        "last_step": figures.last_index,
        "n": figures.n,
        "first_step_seconds": figures.first_s,
        "min": figures.min_s,
        "p50": figures.p50_s,
        "p90": figures.p90_s,
        "p99": figures.p99_s,
        "max": figures.max_s,
        "unit": UNIT,
        "interval_steps": figures.interval_steps,
        "steps": figures.steps,
        "seconds": figures.seconds,
        "samples": figures.samples,
        "paused": figures.paused,
        "rank_error": figures.rank_error,
    }


def _first_step(origin: Origin, figures: SegmentFigures) -> int:
    """Return the first step; for intervals the counter at which the first one begins."""
    if figures.interval_steps > 1 and origin.start_index is not None:
        return origin.start_index
    return figures.first_index


def remarks(origin: Origin, figures: SegmentFigures) -> Iterable[LogNote]:
    """What a reader must be told of a segment's figures."""
    line = origin.first_line
    if not figures.steps:
        yield LogNote("no_clock", line, f"{origin.dialect} lines count steps but tell no time")
    elif figures.n < FEW:
        values = ", ".join(f"{value:.2f}" for value in figures.samples)
        yield LogNote(
            "few_samples", line, f"{len(figures.samples)} value(s), no distribution: {values} s"
        )
    if figures.interval_steps > 1 and figures.n:
        yield LogNote(
            "intervals",
            line,
            f"each value is the mean over an interval of {figures.interval_steps} steps,"
            " not a single step",
        )
    if figures.other_kind:
        yield LogNote(
            "other_intervals", line, f"{figures.other_kind} values of another length left out"
        )
    if figures.paused:
        yield LogNote(
            "pauses", line, f"{figures.paused} steps with an evaluation or a save left out"
        )
    coarse = figures.clock is StepClock.COUNTER and origin.key.startswith(("tqdm", "lightning"))
    if coarse and figures.p50_s is not None and figures.p50_s < COARSE_BELOW_S:
        yield LogNote("coarse_clock", line, "the bar's clock ticks in whole seconds: ±1 s a value")


def segment_row(segment: dict[str, Any]) -> list[str]:
    """Return a table row."""
    figures = [segment[key] for key in ("first_step_seconds", "min", "p50", "p90", "p99", "max")]
    return [
        str(segment["attempt"]),
        str(segment["writer"]),
        segment["dialect"],
        segment["clock"],
        f"{segment['first_step']}-{segment['last_step']}",
        str(segment["n"]),
        "1 step" if segment["interval_steps"] == 1 else f"{segment['interval_steps']} steps",
        *(
            "-" if value is None else f"{value:.4g}" if value < 1 else f"{value:.2f}"
            for value in figures
        ),
    ]


def note_row(note: LogNote) -> list[str]:
    """Return a table row."""
    return ["" if note.line is None else str(note.line), note.code, note.text]
