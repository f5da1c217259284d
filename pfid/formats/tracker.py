"""Sorts readings into series: who wrote them, which are copies, where a counter went back.

Per key (dialect and bar) there may be several live series: two processes that write into one
file each have a counter and a clock of their own. A reading goes to the series it continues; a
reading that repeats a known one is a redraw or another rank's copy and is no step; anything else
begins a new series, which later turns out to be a second writer (the old one goes on) or a
second attempt (it does not).
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any, Final, NamedTuple

from pfid.domain.log_facts import LogFacts
from pfid.domain.step import StepClock
from pfid.formats.attempts import partners, went_back
from pfid.formats.copies import repeats, told_by_another, without_loss
from pfid.formats.going_back import echoed, ran_past, turned_back, worked_again
from pfid.formats.line_count import LineCount
from pfid.formats.reading import Reading, plain_reading, restored_reading
from pfid.formats.retold import Turn
from pfid.formats.series import MEMORY_POINTS, STATE_POINTS, Series
from pfid.formats.step_timing import Timing, take

MAX_LIVE: Final = 8
"""Live series per key; the longest silent one is let go."""
MAX_KEYS: Final = 48
MAX_HELD: Final = 64
"""Readings held back while they may be a copy of a whole bar; as many matches are proof."""
MAX_HELD_IN_ALL: Final = 256
"""Held back over all keys; where that is too many, the oldest held are copies."""
STATE_POINTS_IN_ALL: Final = 1024
"""Points that a state keeps of all live series together; those that have ended need none."""
MAX_SERIES: Final = 64
"""Series remembered one by one; of older ones only how they began is counted."""
SILENT_TURNS: Final = 512
"""A series that was silent for so many turns of its key has ended."""


class Held(NamedTuple):
    """A reading that waits for its like."""

    reading: Reading
    line: int
    at_s: float | None


Taken = tuple[Reading, Series, Timing | None]
"""A reading that was a step: of which series, and how long it took (None: still adding up)."""


class Tracker:
    """All series of one log."""

    __slots__ = (
        "_gone",
        "_held",
        "_last",
        "_live",
        "_memory",
        "_next",
        "_turn",
        "_writers",
        "broken",
        "resumed",
        "series",
    )

    def __init__(self, memory: int = MEMORY_POINTS) -> None:
        """Remember ``memory`` points of each series."""
        self._memory = memory
        self._next = 1
        self._turn = 0
        self._gone = [0, 0]
        self._writers = 0
        """Of what was read before, where nothing else is known of it."""
        self._live: dict[str, list[Series]] = {}
        self._last: dict[str, Series] = {}
        self._held: dict[str, list[Held]] = {}
        self.series: list[Series] = []
        self.broken = False
        """Something ended a run since the last step (a traceback, a run's header)."""
        self.resumed = False
        """A line said that a checkpoint was loaded, since the last new series."""

    def take(self, reading: Reading, lines: LineCount, at_s: float | None) -> list[Taken]:
        """Sort one reading in; return the steps that are certain now."""
        last = self._last.get(reading.key)
        if last is None:
            full = len(self._last) >= MAX_KEYS
            return [] if full else self._begin(reading, lines.number(), at_s)
        if not reading.redraws and self._is_no_step(reading):
            return []
        held = self._held.get(reading.key) if self._held else None
        if last.echoes is not None and last.follows(reading):
            turn = turned_back(last, reading)
            if turn is not None:
                return self._begin_again(last, turn, reading, at_s)
        if held is None and len(self._live[reading.key]) == 1 and last.follows(reading):
            self._turn += 1
            last.last_turn = self._turn
            self.broken = False
            return [(reading, last, take(last, reading, at_s))]
        return self._sort(reading, lines, at_s, held)

    def _is_no_step(self, reading: Reading) -> bool:
        """Whether it is another rank's word about known steps, or no word about a step."""
        rank, live = reading.rank, self._live[reading.key]
        if rank is not None:
            if any(told_by_another(series, reading, rank) for series in live):
                return True
            if len(live) == 1 and reading.clock is StepClock.COUNTER:
                live[0].hand_over(reading.step, rank)
        return reading.loss is None and any(without_loss(series, reading) for series in live)

    def lone(self, key: str) -> Series | None:
        """Return the one live series of a key; None if there are several, or a copy is weighed."""
        last = self._last.get(key)
        if last is None or key in self._held or len(self._live[key]) != 1:
            return None
        return last

    def index_of(self, reading: Reading) -> int:
        """Return the step of a reading that was none of its own, counted over all laps."""
        last = self._last.get(reading.key)
        return reading.step + (0 if last is None else last.lap_offset)

    def went_on(self, series: Series, turns: int) -> None:
        """A lone series took so many readings by itself."""
        self._turn += turns
        series.last_turn = self._turn
        self.broken = False

    def _sort(
        self, reading: Reading, lines: LineCount, at_s: float | None, held: list[Held] | None
    ) -> list[Taken]:
        owner = self._owner(reading)
        if owner is not None:
            self._held.pop(reading.key, None)
            return [self._advance(owner, reading, at_s)]
        if reading.redraws:
            last = self._last[reading.key]
            if reading.step + last.lap_offset == last.last_index and repeats(last, reading):
                return []
            return self._weigh(Held(reading, lines.number(), at_s), held or [])
        alike = any(repeats(series, reading) for series in self._recent(reading.key))
        last, begun_anew = self._last[reading.key], self.broken or self.resumed
        echo = not begun_anew and echoed(last, reading, lines, alike=alike)
        if alike and not echo:
            turn = worked_again(last, reading, lines, at_s, broken=begun_anew)
            if turn is not None:
                return self._begin_again(last, turn, reading, at_s)
            last.copies += reading.printed_s is not None  # of the others they are counted already
        if alike or echo:
            return []
        return self._begin(reading, lines.number(), at_s)

    def _owner(self, reading: Reading) -> Series | None:
        live = self._live[reading.key]
        able = [series for series in live if series.follows(reading)]
        if not able:
            return None
        best = min(able, key=lambda series: (series.surprise(reading), -series.number))
        if len(live) > 1 and not reading.redraws:
            # Where two series lie close, a copy of one is likelier than a leap of the other.
            gap = reading.step + best.lap_offset - best.last_index
            if gap > 2 * max(best.usual_stride, 1) and any(repeats(s, reading) for s in live):
                return None
        return best

    def _recent(self, key: str) -> Iterator[Series]:
        last = self._last[key]
        yield last
        for series in reversed(self._live[key]):
            if series is not last:
                yield series

    def _weigh(self, new: Held, held: list[Held]) -> list[Taken]:
        """Decide whether a bar that went back is a copy of an earlier one, or new."""
        reading = new.reading
        if held and reading.step <= held[-1].reading.step:
            if reading.step == held[-1].reading.step:
                return []
            held = []
        held.append(new)
        self._held[reading.key] = held
        if self._copied(reading) and not self.broken and not _paced(held):
            if len(held) >= MAX_HELD or reading.step == reading.total:
                self._last[reading.key].copies += len(held)
                del self._held[reading.key]
            self._make_room()
            return []
        del self._held[reading.key]
        return self._release(held)

    def _make_room(self) -> None:
        while sum(map(len, self._held.values())) > MAX_HELD_IN_ALL:
            key = next(iter(self._held))
            self._last[key].copies += len(self._held.pop(key))

    def _copied(self, reading: Reading) -> bool:
        if reading.step == 0:
            return True
        return any(repeats(series, reading) for series in self._recent(reading.key))

    def _release(self, held: list[Held]) -> list[Taken]:
        first = held[0]
        last = self._last[first.reading.key]
        if last.complete and first.reading.step <= 1 and not self.broken and not first.reading.lap:
            last.lap_offset += last.total or 0
            last.begin_lap(last.lap, last.lap_offset)
            last.last_clock_s = 0.0
            taken: list[Taken] = []
        else:
            taken = self._begin(*held.pop(0))
            last = self._last[first.reading.key]
        for reading, _line, at_s in held:
            if reading.step + last.lap_offset > last.last_index:
                taken.append(self._advance(last, reading, at_s))
        return taken

    def _begin(self, reading: Reading, line: int, at_s: float | None) -> list[Taken]:
        key = reading.key
        if self._writers and key not in self._last:  # its clock began long before
            reading = reading._replace(from_zero=False)
        series = Series(self._next, reading, line, self._memory)
        series.last_turn = self._turn + 1
        self._next += 1
        before = self._last.get(key)
        if before is not None:
            series.predecessor, series.resumed = before.number, self.resumed
            series.usual_stride = 0 if reading.redraws else before.usual_stride
            self._inherit(series, before, reading)
        self.resumed = False
        live = self._live.setdefault(key, [])
        live.append(series)
        if len(live) > MAX_LIVE:
            live.remove(min(live, key=attrgetter("last_turn")))
        self.series.append(series)
        if len(self.series) > MAX_SERIES:
            self._let_go()
        return [self._advance(series, reading, at_s)]

    def _begin_again(
        self, before: Series, turn: Turn, reading: Reading, at_s: float | None
    ) -> list[Taken]:
        """Some steps ago the counter went back: from here on it is another attempt."""
        before.echoes = before.retold = None
        live = self._live[reading.key]
        if before in live:
            live.remove(before)  # it has ended: no step after these is its own
        taken = self._begin(reading, turn.first_line, at_s)
        self._last[reading.key].began_with(turn)
        return taken

    def _let_go(self) -> None:
        newest = {one.number for one in self._last.values()}
        gone = min(
            (one for one in self.series if one.number not in newest), key=attrgetter("last_turn")
        )
        self.series.remove(gone)
        if gone in self._live[gone.key]:
            self._live[gone.key].remove(gone)
        self._gone[gone.resumed] += went_back(gone)
        self._gone[False] += ran_past(gone) is not None

    def _inherit(self, series: Series, before: Series, reading: Reading) -> None:
        """A writer that was taken for a copy until its clock drifted away has a past."""
        shadow, before.shadow = before.shadow, None
        if shadow is None or reading.clock_s is None:
            return
        index, clock_s, _off = shadow
        if index < reading.step and clock_s < reading.clock_s:
            series.points = 1
            series.last_index, series.last_clock_s = index, clock_s
            series.first_index = index
            series.start_index, series.start_clock_s = index, clock_s
            series.base_index, series.base_clock_s = index, clock_s

    def _advance(self, series: Series, reading: Reading, at_s: float | None) -> Taken:
        last = self._last.get(series.key)
        if last is not None and last is not series:
            self._meet(series, last)
        self._last[series.key] = series
        self._turn += 1
        series.last_turn = self._turn
        live = self._live[series.key]
        if len(live) > 1 and live[0].last_turn < self._turn - SILENT_TURNS:
            del live[0]
        self.broken = False
        return reading, series, take(series, reading, at_s)

    def _meet(self, series: Series, other: Series) -> None:
        """Count a turn taken by turns: only an older series going on makes two writers."""
        if series.number < other.number or other.number in series.partners:
            for one, two in ((series, other), (other, series)):
                if two.number in one.partners or len(one.partners) < MAX_LIVE:
                    one.partners[two.number] = one.partners.get(two.number, 0) + 1

    def writers(self) -> int:
        """Return the largest number of series that took turns with one another."""
        found = max((1 + len(partners(series)) for series in self.series), default=1)
        return max(found, self._writers)

    def rewinds(self) -> tuple[int, int]:
        """Return how often a counter went back without and with a line that says resume."""
        back = [series for series in self.series if went_back(series)]
        resumed = sum(series.resumed for series in back)
        again = sum(ran_past(series) is not None for series in self.series)
        return len(back) + again - resumed + self._gone[False], resumed + self._gone[True]

    def state(self) -> dict[str, Any]:
        """Return plain data, bounded whatever the log does."""
        going_on = {one.number for one in self._last.values()}
        going_on.update(one.number for live in self._live.values() for one in live)
        each = min(STATE_POINTS, STATE_POINTS_IN_ALL // max(len(going_on), 1))
        return {
            "next": self._next,
            "series": [one.state(each if one.number in going_on else 0) for one in self.series],
            "live": [[key, [one.number for one in live]] for key, live in self._live.items()],
            "last": [[key, one.number] for key, one in self._last.items()],
            "flags": [self.broken, self.resumed],
            "held": [
                [key, [[plain_reading(h.reading), h.line, h.at_s] for h in held]]
                for key, held in self._held.items()
            ],
            "turn": self._turn,
            "gone": list(self._gone),
            "writers": self._writers,
        }

    @classmethod
    def after(cls, facts: LogFacts) -> "Tracker":
        """Go on where no more is known than what was counted."""
        tracker = cls()
        tracker._writers = facts.writers
        tracker._gone = [facts.rewinds, facts.resumes]
        return tracker

    @classmethod
    def restore(cls, state: dict[str, Any], memory: int = MEMORY_POINTS) -> "Tracker":
        """Go on from plain data."""
        tracker = cls(memory)
        tracker._next = state["next"]
        tracker.series = [Series.restore(one, memory) for one in state["series"]]
        by_number = {one.number: one for one in tracker.series}
        for key, numbers in state["live"]:
            tracker._live[key] = [by_number[n] for n in numbers if n in by_number]
        for key, number in state["last"]:
            if number in by_number:
                tracker._last[key] = by_number[number]
        tracker.broken, tracker.resumed = state["flags"]
        for key, held in state["held"]:
            tracker._held[key] = [Held(restored_reading(r), line, at_s) for r, line, at_s in held]
        tracker._turn, tracker._gone = state["turn"], list(state["gone"])
        tracker._writers = state.get("writers", 0)
        return tracker


def _paced(held: list[Held]) -> bool:
    """Whether readings came as slowly as their clock runs: work, not a copy of finished work."""
    first, last = held[0], held[-1]
    if first.at_s is None or last.at_s is None:
        return False
    clock = (last.reading.clock_s or 0.0) - (first.reading.clock_s or 0.0)
    return clock >= 2 and last.at_s - first.at_s >= clock / 2
