"""What a reader of a log must be told beside the figures: writers, attempts, ends, omissions."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from pfid.domain.log_facts import Marker, MarkerSeen
from pfid.formats.attempts import partners, places, went_back
from pfid.formats.dialects import hf_dict
from pfid.formats.going_back import ran_past
from pfid.formats.log_stream import LogParser
from pfid.formats.retold import Turn
from pfid.formats.series import Series
from pfid.formats.untrusted import printable


class LogNote(NamedTuple):
    """One remark.

    Attributes:
        code: fixed word.
        line: 1-based line it is about, None if it is about the whole log.
        text: a sentence; text of the log in it is sanitised.
    """

    code: str
    line: int | None
    text: str


_MEANINGS: Final[Mapping[Marker, str]] = {
    Marker.SCHEDULER_TIME_LIMIT: "the scheduler ended the run at its time limit; not a crash",
    Marker.SCHEDULER_CANCELLED: "the scheduler or a person cancelled the run",
    Marker.TRACEBACK: "an exception ended something here",
    Marker.OUT_OF_MEMORY: "out of memory",
    Marker.NCCL_TIMEOUT: "a collective operation timed out; the rank that hung may be another",
    Marker.RECOMPILE_LIMIT: (
        "dynamo hit its recompile limit: a suspicion, the step times decide what it cost"
    ),
    Marker.FLEX_UNCOMPILED: "flex_attention ran uncompiled, which costs about twentyfold",
}


def log_notes(parser: LogParser) -> tuple[LogNote, ...]:
    """Return all remarks on a log that was read to its end, in order of their lines."""
    found = [
        *_writers(parser),
        *_attempts(parser),
        *_markers(parser),
        *_skipped(parser),
        *_losses_alone(parser),
        *_bytes(parser),
    ]
    return tuple(sorted(found, key=lambda note: note.line or 0))


def _writers(parser: LogParser) -> Iterator[LogNote]:
    for one in parser.series():
        others = [number for number in partners(one) if number < one.number]
        if others:
            yield LogNote(
                "two_writers",
                one.first_line,
                f"a second series of {one.dialect} steps with a clock of its own is interleaved:"
                " two processes write this file. Give each its own log, and check that a launch"
                " meant to be distributed was (two independent copies may be training)",
            )


def _attempts(parser: LogParser) -> Iterator[LogNote]:
    series = parser.series()
    numbered = places(series)
    for one in series:
        if went_back(one):
            yield _rewind(Turn(_furthest(series, one), one.first_index, one.first_line))
            start = one.first_index if one.start_index is None else one.start_index
            if start > 1:
                yield LogNote(
                    "resumed_at",
                    one.first_line,
                    f"attempt {numbered[one.number].attempt} goes on from step {start}",
                )
        turn = ran_past(one)
        if turn is not None:
            yield _rewind(turn)
            yield LogNote(
                "told_again_alike",
                turn.first_line,
                f"steps {turn.first} to {turn.came_from} were worked again as fast as before: they"
                " count once here, and what follows belongs to another attempt",
            )
    yield from _resumed_first(parser, series)


def _rewind(turn: Turn) -> LogNote:
    return LogNote(
        "rewind",
        turn.first_line,
        f"the step counter goes back from {turn.came_from} to {turn.first}: a relaunch was"
        " appended, this file holds more than one attempt. Rotate the log on relaunch",
    )


def _furthest(series: tuple[Series, ...], one: Series) -> int:
    if one.came_from is not None:
        return one.came_from
    return max(s.last_index for s in series if s.key == one.key and s.number < one.number)


def _resumed_first(parser: LogParser, series: tuple[Series, ...]) -> Iterator[LogNote]:
    """A log may begin with a resumed run: nothing goes back, but a line says so."""
    seen = parser.facts().markers.get(Marker.RESUMED)
    if seen is not None and seen.count and series and not any(went_back(s) for s in series):
        yield LogNote("resumed_at", seen.first_line, f"resumed: {seen.line}")


def _markers(parser: LogParser) -> Iterator[LogNote]:
    for marker, seen in parser.facts().markers.items():
        meaning = _MEANINGS.get(marker)
        if meaning is None:
            continue
        if seen.count:
            yield LogNote(marker.value, seen.first_line, f"{meaning}{_times(seen)}: {seen.line}")
        if seen.quoted:
            yield LogNote(
                f"{marker.value}_quoted",
                None,
                f"{seen.quoted} line(s) quote the words of {marker.value} (source code, a repr)"
                " and are no evidence",
            )


def _times(seen: MarkerSeen) -> str:
    return "" if seen.count == 1 else f" ({seen.count} lines)"


def _skipped(parser: LogParser) -> Iterator[LogNote]:
    for one in parser.series():
        if one.skipped and one.skipped == one.points:
            yield LogNote(
                "all_iterations_skipped",
                one.first_line,
                f"all {one.points} iterations skipped their update: no optimizer step took effect",
            )
        elif one.skipped:
            yield LogNote(
                "iterations_skipped",
                one.first_line,
                f"{one.skipped} of {one.points} step lines report skipped updates",
            )


def _losses_alone(parser: LogParser) -> Iterator[LogNote]:
    """The Trainer without its bar: losses, and nothing that says which step they are of."""
    facts = parser.facts()
    if parser.series() or hf_dict.NAME not in facts.dialects:
        return
    last = f" (the last one {facts.losses[-1].value:.4g})" if facts.losses else ""
    mean_s = parser.mean_step_s
    mean = f" Its summary says {mean_s:.4g} s a step on the average." if mean_s else ""
    yield LogNote(
        "log_dicts_without_steps",
        None,
        f"log dicts of the HF Trainer give losses{last}, but no step number and no time, so no step"
        f" can be told from them.{mean} Leave the Trainer's bar on (disable_tqdm=False), log the"
        " step with them, or write a JSON line a step",
    )


def _bytes(parser: LogParser) -> Iterator[LogNote]:
    facts = parser.facts()
    if facts.nul_prefix_bytes:
        yield LogNote(
            "nul_prefix",
            1,
            f"{facts.nul_prefix_bytes} NUL bytes stand in front: the file was truncated under a"
            " writer that does not append (copytruncate)",
        )
    bars = [printable(bar, 60) for bar in parser.other_bars() if bar]
    if bars:
        yield LogNote(
            "bars_left_out", None, f"bars that count something else: {', '.join(bars[:8])}"
        )
    copies = sum(one.copies for one in parser.series())
    if copies:
        yield LogNote("copies", None, f"{copies} step lines are copies and were counted once")
