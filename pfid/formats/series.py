"""One series of step lines in a log: a counter that rises, with a clock of its own.

How its lines are timed stands in ``step_timing``, which lines are none of its own in ``copies``,
and where its counter went back in ``going_back``.
"""

from array import array
from typing import Any, Final

from pfid.formats.echoes import Echoes
from pfid.formats.ranks import Ranks
from pfid.formats.reading import Reading
from pfid.formats.retold import Retold, Turn

CLOCK_SLACK_S: Final = 2.0
"""Clocks of ranks that work in step differ by rounding and by a little; two runs' drift apart."""
_UNKNOWN: Final = float("nan")
MEMORY_POINTS: Final = 2048
STATE_POINTS: Final = 64


class Series:
    """One writer's one attempt: where it stands, and enough of its past to know copies of it."""

    __slots__ = (
        "base_at_s",
        "base_clock_s",
        "base_index",
        "came_from",
        "clocks",
        "copies",
        "dialect",
        "echoes",
        "first_index",
        "first_line",
        "indexes",
        "key",
        "lap",
        "lap_begin",
        "lap_offset",
        "last_clock_s",
        "last_index",
        "last_turn",
        "lossy",
        "memory",
        "number",
        "pace_s",
        "partners",
        "points",
        "predecessor",
        "ranks",
        "rates",
        "resumed",
        "retold",
        "shadow",
        "skipped",
        "start_clock_s",
        "start_index",
        "total",
        "usual_stride",
        "writer",
    )

    def __init__(self, number: int, reading: Reading, line: int, memory: int) -> None:
        """Begin at a reading, which is not yet taken."""
        self.number = number
        self.key = reading.key
        self.writer = reading.key if number == 1 else f"{reading.key}#{number}"
        """The key of this series as its events carry it, numbered from the second on."""
        self.dialect = reading.dialect
        self.first_line = line
        self.first_index = reading.step
        self.start_index: int | None = None
        self.start_clock_s: float | None = None
        self.last_index = -1
        self.last_turn = 0
        self.last_clock_s: float | None = None
        self.base_index: int | None = None
        self.base_clock_s: float | None = None
        self.base_at_s: float | None = None
        self.lap = reading.lap
        self.lap_offset = self.lap_begin = 0
        self.total = reading.total
        self.pace_s = 0.0
        self.usual_stride = 0
        self.points = self.skipped = self.copies = 0
        self.predecessor: int | None = None
        self.came_from: int | None = None
        """Where the counter had come to before it went back, where that is not the last before."""
        self.resumed = self.lossy = False
        self.ranks: Ranks | None = None
        self.echoes: Echoes | None = None
        self.retold: Retold | None = None
        self.partners: dict[int, int] = {}
        self.shadow: tuple[int, float, float] | None = None
        self.memory = memory
        self.indexes = array("q")
        self.clocks = array("d")
        self.rates = array("d")

    @property
    def complete(self) -> bool:
        """Whether the counter reached its total, in this lap."""
        return self.total is not None and self.last_index >= self.lap_offset + self.total

    def follows(self, reading: Reading) -> bool:
        """Whether a reading can be the next of this series."""
        if reading.lap != self.lap:
            return reading.lap > self.lap and reading.step >= self.last_index
        if reading.step + self.lap_offset <= self.last_index:
            return False
        if reading.clock_s is None or self.last_clock_s is None:
            return True
        return reading.clock_s >= self.last_clock_s - CLOCK_SLACK_S

    def surprise(self, reading: Reading) -> float:
        """How far a reading lies from where this series was going, in steps or seconds."""
        gap = reading.step + self.lap_offset - self.last_index
        if reading.clock_s is None or self.last_clock_s is None or reading.lap != self.lap:
            return float(gap)
        late_s = reading.clock_s - self.last_clock_s - gap * self.pace_s
        # A save makes one line late and the next one early; but lines are rarely left out.
        missed_s = abs(gap - self.usual_stride) * self.pace_s
        return missed_s + abs(late_s)

    def began_with(self, turn: Turn) -> None:
        """Say where this series began: it was known for one of its own only some steps later."""
        self.first_index, self.first_line = turn.first, turn.first_line
        self.start_index = max(turn.first - max(self.usual_stride, 1), 0)
        self.came_from = turn.came_from

    def hand_over(self, index: int, rank: int) -> None:
        """Go on with this rank; what passed on the clock of another says nothing about its own."""
        ahead = index + self.lap_offset > self.last_index
        if ahead and self.ranks is not None and rank != self.ranks.lead:
            self.last_clock_s = self.base_clock_s = None

    def begin_lap(self, lap: int, offset: int) -> None:
        """A new epoch: the bar's clock starts again at zero."""
        self.lap, self.lap_begin = lap, offset
        self.base_index, self.base_clock_s, self.base_at_s = offset, 0.0, None

    def remember(self, reading: Reading, index: int) -> None:
        """Keep a step as what copies of it are told by."""
        clock = reading.printed_s
        if clock is None:
            clock = reading.clock_s
        self.indexes.append(index)
        self.clocks.append(_UNKNOWN if clock is None else clock)
        if reading.redraws:
            self.rates.append(reading.rate_s or 0.0)
        if len(self.indexes) > 2 * self.memory:
            self.forget(self.memory)

    def forget(self, keep: int) -> None:
        """Keep the newest points only."""
        for memory in (self.indexes, self.clocks, self.rates):
            del memory[:-keep]

    def state(self, points: int = STATE_POINTS) -> list[Any]:
        """Return plain data, with the newest ``points`` of what copies are told by.

        What is nothing is left out: a log may have 64 series, and their names would outweigh them.
        """
        plain: dict[str, Any] = {
            name: value for name in _PLAIN if (value := getattr(self, name)) is not None
        }
        if self.partners:
            plain["partners"] = list(self.partners.items())
        if self.ranks is not None and points:
            plain["ranks"] = self.ranks.state()
        if self.echoes is not None:
            plain["echoes"] = self.echoes.state()
        if self.retold is not None:
            plain["retold"] = self.retold.state()
        for name in _MEMORIES:
            held = getattr(self, name)
            if points and held:
                plain[name] = held[-points:].tobytes()
        return [plain]

    @classmethod
    def restore(cls, state: list[Any], memory: int) -> "Series":
        """Go on from plain data."""
        series = cls.__new__(cls)
        plain = dict(state[0])
        series.memory = memory
        series.partners = {int(k): int(v) for k, v in plain.pop("partners", ())}
        ranks = plain.pop("ranks", None)
        series.ranks = None if ranks is None else Ranks.restore(ranks)
        echoes = plain.pop("echoes", None)
        series.echoes = None if echoes is None else Echoes(tuple(echoes))
        retold = plain.pop("retold", None)
        series.retold = None if retold is None else Retold.restore(retold)
        for name, code in _MEMORIES.items():
            held = array(code)
            held.frombytes(plain.pop(name, b""))
            setattr(series, name, held)
        for name in _PLAIN:
            setattr(series, name, plain.get(name))
        if series.shadow is not None:
            index, clock_s, off = series.shadow
            series.shadow = (index, clock_s, off)
        return series


_MEMORIES: Final = {"indexes": "q", "clocks": "d", "rates": "d"}
_PLAIN: Final = tuple(
    name
    for name in Series.__slots__
    if name not in {*_MEMORIES, "partners", "ranks", "echoes", "retold", "memory"}
)
