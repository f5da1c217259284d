"""A run's log, read as it grows: step events and facts out of any bytes in any chunks.

The bulk of a log is not about steps. One linear automaton over all triggers of all dialects finds
the few lines that may be; only those are looked at in Python. What comes out depends on the bytes
alone, not on how they were cut into chunks (arrival times aside).
"""

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

from pfid.domain.log_facts import LogFacts, LossSeen, Marker
from pfid.domain.step import Phase, StepEvent
from pfid.formats import bar_rows, markers, phases
from pfid.formats.arrivals import spread_arrivals
from pfid.formats.bar_rows import Row
from pfid.formats.candidates import Candidate, Scanner
from pfid.formats.dialects import hf_dict, lightning, tqdm
from pfid.formats.dialects.bar import Bar, read_bar
from pfid.formats.line_count import LineCount
from pfid.formats.line_cutting import LineCutter
from pfid.formats.marker_log import MarkerLog
from pfid.formats.reading import Reading
from pfid.formats.series import MEMORY_POINTS, Series
from pfid.formats.step_events import step_event
from pfid.formats.tracker import Taken, Tracker

MAX_LOSSES: Final = 64
AT_A_TIME: Final = 16
"""Candidates found before they are looked at: either work is quicker when it is not interrupted."""
MAX_BARS: Final = 64
"""Other bars remembered by name, for the note that they were left out."""
_NO_PRESETS: Final[Mapping[str, Mapping[str, str]]] = {}


class LogParser:
    """Reads one log. Feed it bytes; ask for facts at any time."""

    def __init__(
        self,
        *,
        size_at_start: int = 0,
        regex_dialects: Mapping[str, str] | None = None,
        jsonl_keys: Mapping[str, Mapping[str, str]] | None = None,
        memory_points: int = MEMORY_POINTS,
    ) -> None:
        """Start at the beginning of the run's text.

        Args:
            size_at_start: so many bytes of the file are known to be older than the run.
            regex_dialects: name to re2 pattern (``pfid.formats.dialects.regex_dialect``).
            jsonl_keys: further presets (``pfid.formats.dialects.json_lines``).
            memory_points: points of each series remembered to tell copies by.

        Raises:
            PatternError: for a pattern that cannot be used.
        """
        self._before_run = size_at_start
        self._scanner = Scanner(regex_dialects or {}, jsonl_keys or _NO_PRESETS)
        self._tracker = Tracker(memory_points)
        self._markers = MarkerLog()
        self._cut = LineCutter()
        self._bytes_read = self._truncations = 0
        self._lines = LineCount()
        self._dialects: Counter[str] = Counter()
        self._losses: deque[LossSeen] = deque(maxlen=MAX_LOSSES)
        self._phase: Phase | None = None
        self._gap: Phase | None = None
        self._last_index: int | None = None
        self._other_bars: dict[str, str] = {}
        self._evaluation_keys: set[str] = set()
        self._done_bar: str | None = None
        self.mean_step_s: float | None = None
        """Seconds of a step over the whole training, where its last line says so."""

    def feed(self, chunk: bytes, at_s: float | None = None) -> list[StepEvent]:
        """Take the next bytes; return the steps they complete.

        Args:
            chunk: any bytes.
            at_s: when they arrived, Unix seconds; None in a forensic reading.
        """
        self._bytes_read += len(chunk)
        events = self._read(self._cut.feed(chunk), at_s)
        self._cut.shorten()
        if at_s is not None and b"]" in self._cut.tail and not self._cut.over_long:
            # A bar has no end of line until it is drawn again, which may be minutes later.
            self._unfinished_bar(at_s, events)
        if at_s is not None:
            spread_arrivals(self._tracker.series, events, at_s)
        return events

    def finish(self, at_s: float | None = None) -> list[StepEvent]:
        """Take a last line that has no end."""
        return self._read(self._cut.rest(), at_s)

    def truncated(self) -> None:
        """The file shrank: what comes next stands at its beginning."""
        self._truncations += 1
        self.replaced()

    def replaced(self) -> None:
        """Another file took the place of this one: what comes next stands at its beginning."""
        self._cut.truncated()

    def _read(self, body: bytes, at_s: float | None) -> list[StepEvent]:
        events: list[StepEvent] = []
        self._lines.block(body)
        found = iter(self._scanner.candidates(body))
        while some := list(islice(found, AT_A_TIME)):
            self._take(some, at_s, events)
        self._lines.end_block()
        return events

    def _take(self, some: list[Candidate], at_s: float | None, events: list[StepEvent]) -> None:
        for start, text, kind, reader, rows in some:
            self._lines.at = start
            if reader is not None:
                reading = reader(text)
                if reading is not None:
                    self._step(reading, at_s, events)
            elif rows:
                self._bars(rows, at_s, events)
            elif kind == "bar":
                self._bar(text, at_s, events)
            else:
                self._other(kind, text, at_s, events)

    def _other(self, kind: str, text: bytes, at_s: float | None, events: list[StepEvent]) -> None:
        if kind == "hf_dict":
            self._hf_dict(text, at_s, events)
        elif kind == "marker":
            self._mark(text, at_s)
        else:
            self._enter(phases.phase_of(text))

    def _bar(self, text: bytes, at_s: float | None, events: list[StepEvent]) -> None:
        bar = read_bar(text)
        if bar is not None:
            self._drawn(bar, at_s, events)

    def _bars(self, rows: Sequence[Row], at_s: float | None, events: list[StepEvent]) -> None:
        while rows:
            key = tqdm.key_of(int(rows[0][2]))
            series = None if key in self._evaluation_keys else self._tracker.lone(key)
            ran = 0 if series is None else self._run(series, rows, at_s, events)
            if not ran:
                self._lines.at, ran = rows[0].start(), 1
                self._drawn(bar_rows.bar_of(rows[0]), at_s, events)
            rows = rows[ran:]

    def _run(
        self, series: Series, rows: Sequence[Row], at_s: float | None, events: list[StepEvent]
    ) -> int:
        before = len(events)
        ran = bar_rows.run(series, rows, at_s, self._gap or Phase.TRAIN, events)
        if ran.done:
            self._done_bar = series.key
        if ran.taken:
            self._dialects[tqdm.NAME] += ran.taken
            self._tracker.went_on(series, ran.taken)
            self._last_index = series.last_index
        if len(events) > before:
            self._phase, self._gap = Phase.TRAIN, None
        return ran.rows

    def _drawn(self, bar: Bar, at_s: float | None, events: list[StepEvent]) -> None:
        role = tqdm.role_of(bar)
        reading = (lightning.read(bar) or tqdm.read(bar)) if role is tqdm.BarRole.STEPS else None
        if reading is not None and reading.key not in self._evaluation_keys:
            self._step(reading, at_s, events)
            self._done_bar = reading.key if bar.n == bar.total else self._done_bar
        elif role is tqdm.BarRole.EVALUATION or reading is not None:
            self._enter(Phase.EVAL)
            if not bar.description and len(self._evaluation_keys) < MAX_BARS:
                self._evaluation_keys.add(tqdm.key_of(bar.total))
        elif role is tqdm.BarRole.RESUME_SKIP:
            self._enter(Phase.RESUME_SKIP)
        elif len(self._other_bars) < MAX_BARS:
            self._other_bars.setdefault(bar.description[:80], bar.unit)

    def _unfinished_bar(self, at_s: float, events: list[StepEvent]) -> None:
        for _start, text, kind, _reader, _rows in self._scanner.candidates(self._cut.tail):
            if kind == "bar":
                self._bar(text, at_s, events)

    def _hf_dict(self, text: bytes, at_s: float | None, events: list[StepEvent]) -> None:
        said = hf_dict.read(text)
        if said is None:
            return
        if said.reading is not None:
            self._step(said.reading, at_s, events)
            return
        self._dialects[hf_dict.NAME] += 1
        self.mean_step_s = said.step_s or self.mean_step_s
        if said.loss is not None:
            self._losses.append(LossSeen(index=self._last_index, value=said.loss))
            self._done_bar = None
        elif said.evaluated:
            self._enter(Phase.EVAL)
            self._name_evaluation_bar()
        else:
            self._tracker.broken = True

    def _name_evaluation_bar(self) -> None:
        """A nameless bar that ended just before an evaluation's figures was its bar."""
        others = {one.key for one in self._tracker.series if one.key != self._done_bar}
        if self._done_bar is not None and others and tqdm.nameless(self._done_bar):
            self._evaluation_keys.add(self._done_bar)
        self._done_bar = None

    def _mark(self, text: bytes, at_s: float | None) -> None:
        for seen in markers.sightings(text):
            self._markers.add(seen, text, self._lines.number(), at_s, self._last_index)
            if seen.genuine:
                self._tracker.broken |= seen.marker in {Marker.TRACEBACK, Marker.RUN_HEADER}
                self._tracker.resumed |= seen.marker is Marker.RESUMED

    def _enter(self, phase: Phase | None) -> None:
        if phase is not None:
            self._phase = self._gap = phase

    def _step(self, reading: Reading, at_s: float | None, events: list[StepEvent]) -> None:
        steps = self._tracker.take(reading, self._lines, at_s)
        if reading.evaluation and not steps:
            self._enter(Phase.EVAL)
        if reading.loss is not None and not steps and not math.isfinite(reading.loss):
            self._bad_copy(self._tracker.index_of(reading), reading.loss)
        for taken in steps:
            self._dialects[reading.dialect] += 1
            event = self._event(taken, at_s)
            if event is not None:
                events.append(event)

    def _bad_copy(self, index: int, loss: float) -> None:
        """A copy is no step, but one rank of many may be the one whose loss is lost."""
        if not any(seen.index == index and not math.isfinite(seen.value) for seen in self._losses):
            self._losses.append(LossSeen(index=index, value=loss))

    def _event(self, taken: Taken, at_s: float | None) -> StepEvent | None:
        reading, series, timing = taken
        if reading.redraws and not series.last_index:
            return None
        self._last_index = series.last_index
        if reading.skipped:
            self._markers.count(
                Marker.SKIPPED_STEP, reading.skipped, self._lines, series.last_index
            )
        if reading.loss is not None:
            self._losses.append(LossSeen(index=series.last_index, value=reading.loss))
        if timing is None:
            return None
        phase = Phase.TRAIN
        if self._gap is not None:
            phase = self._gap if reading.pauses_inside else phase
            self._gap = None
        self._phase = Phase.TRAIN
        return step_event(series.last_index, timing, phase, reading, series.writer, at_s)

    def phase(self) -> Phase | None:
        """Return what the run does now, as far as its log says; None if it says nothing."""
        return self._phase

    def series(self) -> tuple[Series, ...]:
        """Return the series, in order of appearance, evaluation bars left out."""
        return tuple(s for s in self._tracker.series if s.key not in self._evaluation_keys)

    def other_bars(self) -> tuple[str, ...]:
        """Return descriptions (untrusted) of bars that do not count steps."""
        return tuple(self._other_bars)

    def facts(self) -> LogFacts:
        """Return what the log says about how many runs and writers it holds."""
        rewinds, resumes = self._tracker.rewinds()
        return LogFacts(
            bytes_before_run=self._before_run,
            bytes_read=self._bytes_read,
            nul_prefix_bytes=self._cut.nul_prefix_bytes,
            truncations=self._truncations,
            writers=self._tracker.writers(),
            rewinds=rewinds,
            resumes=resumes,
            markers=self._markers.seen(),
            losses=tuple(self._losses),
            dialects=tuple(name for name, _lines in self._dialects.most_common()),
        )

    def state(self) -> dict[str, Any]:
        """Return plain data from which ``restore`` goes on."""
        cut = self._cut
        return {
            "before_run": self._before_run,
            "tail": cut.tail,
            "flags": [cut.over_long, cut.at_beginning],
            "counts": [
                *(self._bytes_read, cut.nul_prefix_bytes, self._truncations),
                self._lines.before,
            ],
            "dialects": list(self._dialects.items()),
            "losses": [[loss.index, loss.value] for loss in self._losses],
            "phases": [phase.value if phase else None for phase in (self._phase, self._gap)],
            "last_index": self._last_index,
            "other_bars": list(self._other_bars.items()),
            "evaluation_keys": sorted(self._evaluation_keys),
            "done_bar": self._done_bar,
            "mean_step_s": self.mean_step_s,
            "markers": self._markers.state(),
            "tracker": self._tracker.state(),
        }

    @classmethod
    def after(
        cls,
        facts: LogFacts,
        *,
        regex_dialects: Mapping[str, str] | None = None,
        jsonl_keys: Mapping[str, Mapping[str, str]] | None = None,
    ) -> "LogParser":
        """Go on from the facts alone, with the next line: what was counted is not lost.

        What copies are told by is; lines are counted anew.
        """
        parser = cls(
            size_at_start=facts.bytes_before_run,
            regex_dialects=regex_dialects,
            jsonl_keys=jsonl_keys,
        )
        cut = parser._cut
        cut.over_long, cut.at_beginning = True, False
        cut.nul_prefix_bytes = facts.nul_prefix_bytes
        parser._bytes_read, parser._truncations = facts.bytes_read, facts.truncations
        parser._losses.extend(facts.losses)
        parser._dialects = Counter(facts.dialects)
        parser._markers = MarkerLog.of(facts.markers)
        parser._tracker = Tracker.after(facts)
        return parser

    @classmethod
    def restore(
        cls,
        state: Mapping[str, Any],
        *,
        regex_dialects: Mapping[str, str] | None = None,
        jsonl_keys: Mapping[str, Mapping[str, str]] | None = None,
        memory_points: int = MEMORY_POINTS,
    ) -> "LogParser":
        """Go on from a state, with today's configuration."""
        parser = cls(
            regex_dialects=regex_dialects, jsonl_keys=jsonl_keys, memory_points=memory_points
        )
        parser._before_run = state["before_run"]
        cut = parser._cut
        cut.tail = state["tail"]
        cut.over_long, cut.at_beginning = state["flags"]
        (
            parser._bytes_read,
            cut.nul_prefix_bytes,
            parser._truncations,
            parser._lines.before,
        ) = state["counts"]
        parser._dialects = Counter(dict(state["dialects"]))
        parser._losses.extend(LossSeen(index=i, value=v) for i, v in state["losses"])
        parser._phase, parser._gap = (Phase(v) if v else None for v in state["phases"])
        parser._last_index = state["last_index"]
        parser._other_bars = dict(state["other_bars"])
        parser._evaluation_keys = set(state["evaluation_keys"])
        parser._done_bar = state["done_bar"]
        parser.mean_step_s = state.get("mean_step_s")
        parser._markers = MarkerLog.restore(state["markers"])
        parser._tracker = Tracker.restore(state["tracker"], memory_points)
        return parser
