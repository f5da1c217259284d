"""Known steps that are told again alike, from further back than a rank that keeps step can be.

Another rank whose output comes in blocks tells them so: each block at once, and the next one too.
Work that is done once more comes as slowly as its own times say, while nothing else goes on; or it
runs past the newest step, and what follows is not told again.
"""

from typing import Any, Final, NamedTuple

from pfid.formats.reading import Reading

ARRIVALS: Final = 3
"""Times of arrival that show a pace: two blocks of one rank are two."""
WORK_S: Final = 2.0
"""Seconds of work, by its own clock, that show a pace."""
FAR: Final = 2
"""Usual strides that a rank which keeps step is behind at most."""


class Turn(NamedTuple):
    """Where a counter went back.

    Attributes:
        came_from: the newest step before.
        first: the step it went back to.
        first_line: of that step, 1-based.
    """

    came_from: int
    first: int
    first_line: int


class Retold:
    """The newest stretch of one series that was told again."""

    __slots__ = ("arrivals", "at_s", "begun_at_s", "clock_s", "follows", "last", "turn", "work_s")

    def __init__(
        self, turn: Turn, clock_s: float | None, at_s: float | None, *, follows: bool = False
    ) -> None:
        """Begin with its first step."""
        self.turn = turn
        self.follows = follows
        """It goes on where an earlier one ended: a rank that is behind all the time."""
        self.last = turn.first
        self.clock_s = clock_s
        self.begun_at_s = self.at_s = at_s
        self.work_s = 0.0
        self.arrivals = 1

    def goes_on(self, index: int, newest: int, stride: int) -> bool:
        """Whether a line may be the stretch's next one: nothing else went on since."""
        return newest == self.turn.came_from and index >= self.last - FAR * stride

    def is_followed_by(self, index: int, newest: int, stride: int) -> bool:
        """Whether what is told from this index on goes on with it, or is one more rank's word."""
        came_from, first, _line = self.turn
        if self.follows and newest == came_from:
            return index >= first - FAR * stride
        return self.last < index <= max(self.last, came_from) + FAR * stride

    def hear(self, reading: Reading, index: int, pace_s: float, at_s: float | None) -> None:
        """Take the next line in; one of a step that was heard says nothing."""
        steps = index - self.last
        if steps <= 0:
            return
        if reading.printed_s is not None:
            self.work_s += reading.printed_s * steps
        elif reading.clock_s is not None and self.clock_s is not None:
            self.work_s += max(reading.clock_s - self.clock_s, 0.0)
        else:
            self.work_s += pace_s * steps
        self.arrivals += at_s != self.at_s
        self.last, self.clock_s, self.at_s = index, reading.clock_s, at_s

    def is_work(self) -> bool:
        """Whether it came as slowly as its own times say: no copy of what was done."""
        if self.at_s is None or self.begun_at_s is None or self.follows:
            return False
        paced = self.arrivals >= ARRIVALS and self.work_s >= WORK_S
        return paced and self.at_s - self.begun_at_s >= self.work_s / 2

    def ran_past(self, newest: int, stride: int) -> bool:
        """Whether it came to where the counter had been, and the counter went on from there.

        While a log grows (``at_s``) this says nothing: the next block of a rank may be yet to come.
        """
        came_from = self.turn.came_from
        if self.follows or self.at_s is not None or self.last < came_from - FAR * stride:
            return False
        return newest - came_from > FAR * stride

    def state(self) -> list[Any]:
        """Return plain data."""
        times = [self.clock_s, self.begun_at_s, self.at_s, self.work_s]
        return [list(self.turn), times, self.last, self.arrivals, self.follows]

    @classmethod
    def restore(cls, state: list[Any]) -> "Retold":
        """Go on from plain data."""
        turn, times, last, arrivals, follows = state
        clock_s, begun_at_s, at_s, work_s = times
        retold = cls(Turn(*turn), clock_s, begun_at_s, follows=follows)
        retold.at_s, retold.work_s, retold.last, retold.arrivals = at_s, work_s, last, arrivals
        return retold
