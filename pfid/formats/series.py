"""One series of step lines in a log: a counter that rises, with a clock of its own."""

from array import array
from bisect import bisect_left
from functools import partial
from typing import Any, Final, NamedTuple

from pfid.domain.step import StepClock
from pfid.formats.echoes import Echoes
from pfid.formats.line_count import LineCount
from pfid.formats.ranks import Ranks
from pfid.formats.reading import Reading
from pfid.formats.retold import FAR, Retold, Turn

CLOCK_SLACK_S: Final = 2.0
"""Clocks of ranks that work in step differ by rounding and by a little; two runs' drift apart."""
_UNKNOWN: Final = float("nan")
PRINTED_SLACK: Final = 0.05
OWN_SLACK: Final = 0.005
"""A rank that says its own line twice says the same time, but for rounding."""
COARSE_S: Final = 2.0
"""Shortest difference of a clock of whole seconds that is taken as a time."""
JUMP_FACTOR: Final = 4
"""A counter that leaps this many times its usual stride was moved, it did not work."""
PACE_WEIGHT: Final = 0.1
"""Of the newest step in the mean that foretells the next line; never a step time."""
MEMORY_POINTS: Final = 2048
STATE_POINTS: Final = 64


class Timing(NamedTuple):
    """Duration of what lies between two readings; ``seconds`` None if it cannot be known."""

    seconds: float | None
    interval: int
    clock: StepClock


_timing: Final = partial(tuple.__new__, Timing)
"""A Timing out of a tuple of its fields, at a third of the price."""
_PRINTED: Final = StepClock.PRINTED


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

    def repeats(self, reading: Reading) -> bool:
        """Whether a reading is a redraw, or a copy by another rank, of one that was taken."""
        index = reading.step + self.lap_offset
        at = bisect_left(self.indexes, index)
        if at == len(self.indexes) or self.indexes[at] != index:
            return False
        past = self.clocks[at]
        if reading.printed_s is not None:
            slack = PRINTED_SLACK if reading.rank is None else OWN_SLACK
            allowed = max(slack * max(past, reading.printed_s), 0.002)
            return abs(reading.printed_s - past) <= allowed
        if reading.clock_s is None or past != past:  # noqa: PLR0124 - NaN marks an unknown clock
            return True
        off = reading.clock_s - past
        if reading.redraws:
            return self._redrawn(reading, index, off, self.rates[at])
        return self._shadowed(reading, index, off)

    def told_by_another(self, reading: Reading, rank: int) -> bool:
        """Whether another rank of the same run says what this series knows or will hear."""
        if self.ranks is None:
            return False
        index, stride = reading.step + self.lap_offset, max(self.usual_stride, 1)
        ahead = index - self.last_index
        if ahead <= 0:
            told = self.ranks.tells_again(rank, index, self.last_index, stride)
            self.copies += told
            return told
        own_clock = reading.clock is StepClock.COUNTER
        return own_clock and not self.ranks.followed(rank, ahead, stride)

    def echoed(self, reading: Reading, lines: LineCount, *, alike: bool) -> bool:
        """Whether a line without a name tells the newest step again, be its time alike or not."""
        index, stride = reading.step + self.lap_offset, max(self.usual_stride, 1)
        known = reading.printed_s is not None and reading.rank is None and self.points
        if not known or not 0 <= self.last_index - index <= stride:
            return False
        echoes = self.echoes = self.echoes or Echoes()
        if not echoes.steps or echoes.ended(index, stride):
            echoes.begin(index, lines.number(), self.last_index)
        echoes.hear(index, alike=alike)
        self.copies += 1
        return True

    def turned_back(self, reading: Reading) -> Turn | None:
        """Return where the counter went back by a step or two, where this reading makes it sure."""
        echoes, index = self.echoes, reading.step + self.lap_offset
        if echoes is None or self.partners or index <= self.last_index or not self.usual_stride:
            return None
        if not echoes.went_back(index, self.usual_stride):
            return None
        return Turn(echoes.came_from, echoes.first, echoes.first_line)

    def worked_again(
        self, reading: Reading, lines: LineCount, at_s: float | None, *, broken: bool
    ) -> Turn | None:
        """Return where work went back that a line alike goes on with, where that is certain.

        Args:
            reading: a line that repeats a known step, without a bar.
            lines: count of them.
            at_s: when it arrived.
            broken: whether something ended a run just before.
        """
        index, stride = reading.step + self.lap_offset, max(self.usual_stride, 1)
        retold, far = self.retold, self.last_index - index > FAR * stride
        if retold is None or not retold.goes_on(index, self.last_index, stride):
            turn = Turn(self.last_index, index, lines.number())
            follows = retold is not None and retold.is_followed_by(index, self.last_index, stride)
            self.retold = Retold(turn, reading.clock_s, at_s, follows=follows) if far else None
            return turn if broken and far else None
        retold.hear(reading, index, self.pace_s, at_s)
        return retold.turn if retold.is_work() or (broken and far) else None

    def ran_past(self) -> Turn | None:
        """Return where steps were done again alike, in a log that is read when it is whole."""
        retold = self.retold
        if retold is None or not retold.ran_past(self.last_index, max(self.usual_stride, 1)):
            return None
        echoed = self.echoes is not None and self.echoes.last > retold.turn.came_from
        return None if echoed else retold.turn

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

    def without_loss(self, reading: Reading) -> bool:
        """Whether a line is a second record of a step, or of an evaluation: not of training."""
        if not self.lossy or reading.loss is not None:
            return False
        index = reading.step + self.lap_offset
        if reading.evaluation:
            return True
        at = bisect_left(self.indexes, index)
        return at < len(self.indexes) and self.indexes[at] == index

    def _redrawn(self, reading: Reading, index: int, off: float, rate: float) -> bool:
        if index == self.last_index:
            return off >= -CLOCK_SLACK_S
        return abs(off) <= CLOCK_SLACK_S and same_rate(reading.rate_s, rate)

    def _shadowed(self, reading: Reading, index: int, off: float) -> bool:
        usual = 0.0 if self.shadow is None else self.shadow[2]
        near = abs(off) <= CLOCK_SLACK_S or abs(off - usual) <= CLOCK_SLACK_S
        if not near and (self.shadow is not None or abs(off) > self.pace_s / 2):
            return False
        if reading.clock_s is not None and off:
            self.shadow = (index, reading.clock_s, off if self.shadow is None else usual)
        self.copies += 1
        return True

    def take(self, reading: Reading, at_s: float | None) -> Timing | None:
        """Go on to a reading; None while what lies behind is too short to be timed."""
        index, clock_s, redraws = reading.step + self.lap_offset, reading.clock_s, reading.redraws
        if reading.lap != self.lap:
            self.begin_lap(reading.lap, (reading.total or 0) * reading.lap)
        stride, leapt = 1, False
        if self.points:
            stride = index - self.last_index
            leapt = redraws and stride > 1 and stride > JUMP_FACTOR * self.usual_stride
            usual = self.usual_stride // 2
            self.usual_stride = max(stride, usual)
        else:
            self._begin(reading, index)
        self.points += 1
        if reading.skipped:
            self.skipped += 1
        if reading.rank is not None:
            self.ranks = self.ranks or Ranks()
            self.ranks.hear(reading.rank, index)
        if reading.loss is not None:
            self.lossy = True
        self.last_index, self.last_clock_s = index, clock_s
        self._remember(reading, index)
        if redraws and index <= self.lap_begin:  # a bar at 0 has done nothing yet
            self._rebase(index, clock_s, at_s)
            return None
        timing = Timing(None, stride, reading.clock) if leapt else self._time(reading, index, at_s)
        if timing is not None:
            self.base_index, self.base_clock_s, self.base_at_s = index, clock_s, at_s
            seconds = timing[0]
            if seconds is not None:
                pace_s = self.pace_s
                self.pace_s += (seconds / timing[1] - pace_s) * (PACE_WEIGHT if pace_s else 1)
        return timing

    def _begin(self, reading: Reading, index: int) -> None:
        if reading.from_zero and (index <= 1 or not reading.redraws):
            stride = reading.interval or self.usual_stride or likely_stride(index)
            self.base_index, self.base_clock_s = max(index - stride, 0), 0.0
        elif reading.clock is StepClock.PRINTED:
            stride = reading.interval or self.usual_stride or likely_stride(index)
            self.base_index = max(index - stride, 0)
        self.start_index, self.start_clock_s = self.base_index, self.base_clock_s

    def begin_lap(self, lap: int, offset: int) -> None:
        """A new epoch: the bar's clock starts again at zero."""
        self.lap, self.lap_begin = lap, offset
        self.base_index, self.base_clock_s, self.base_at_s = offset, 0.0, None

    def _rebase(self, index: int, clock_s: float | None, at_s: float | None) -> None:
        self.base_index, self.base_clock_s, self.base_at_s = index, clock_s, at_s

    def _time(self, reading: Reading, index: int, at_s: float | None) -> Timing | None:
        base = self.base_index
        steps = 1 if base is None else max(index - base, 1)
        if reading.printed_s is not None:
            interval = reading.interval or steps
            return _timing((reading.printed_s * interval, interval, _PRINTED))
        if base is None:
            return Timing(None, steps, reading.clock)
        return self._difference(reading, steps, at_s)

    def _difference(self, reading: Reading, steps: int, at_s: float | None) -> Timing | None:
        arrived = None if at_s is None or self.base_at_s is None else at_s - self.base_at_s
        if reading.clock_s is None or self.base_clock_s is None:
            if arrived is None:
                return Timing(None, steps, reading.clock)
            return Timing(arrived, steps, StepClock.ARRIVAL) if arrived > 0 else None
        passed = max(reading.clock_s - self.base_clock_s, 0.0)
        if arrived is not None and arrived > 0 and abs(arrived - passed) < reading.tick_s * 1.5:
            # Finer than whole seconds, and believed only while the two agree.
            return Timing(arrived, steps, StepClock.ARRIVAL)
        if reading.tick_s and passed < COARSE_S * reading.tick_s:
            if self.complete:
                return Timing(passed or None, steps, reading.clock)
            return None
        return _timing((passed, steps, reading.clock))

    def _remember(self, reading: Reading, index: int) -> None:
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


def same_rate(one: float | None, other: float | None) -> bool:
    """Whether two bars show one and the same smoothed rate: copies do, a second run does not."""
    if not one or not other:
        return not one and not other
    return abs(one - other) <= 0.003 * max(one, other)


def likely_stride(index: int) -> int:
    """Guess how many steps the first line of a series is about, from its round number."""
    return (
        next(stride for stride in (100, 50, 20, 10, 5, 2, 1) if index % stride == 0) if index else 1
    )
