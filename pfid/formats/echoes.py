"""Steps that a line without a rank tells once more: another rank's word, or a restart's.

Ranks that wait for one another cannot go on to the step after next before all have told a step;
two launches drift apart, and then they are further. So the times decide nothing while the counters
go in lock-step. A step that is told again once or twice and then never is a counter that went back.
"""

from typing import Final

ENOUGH: Final = 3
"""Steps in a row that were told again until another rank is held to be what tells them."""


class Echoes:
    """The newest steps in a row that were told again, of one series."""

    __slots__ = ("came_from", "first", "first_line", "last", "other_times", "steps")

    def __init__(self, plain: tuple[int, ...] = (-1, 0, 0, -1, 0, -1)) -> None:
        """Go on from :meth:`state`, or begin."""
        self.last, self.steps, self.other_times = plain[:3]
        self.first, self.first_line, self.came_from = plain[3:]

    def ended(self, index: int, stride: int) -> bool:
        """Whether a counter at this index has passed them: what comes is no part of them."""
        return index - self.last > 2 * stride

    def begin(self, index: int, line: int, newest: int) -> None:
        """Forget what was, and count from here; the series had come to ``newest``."""
        self.first, self.first_line, self.came_from = index, line, newest
        self.last, self.steps, self.other_times = index - 1, 0, 0

    def hear(self, index: int, *, alike: bool) -> None:
        """Take one in, which told the time that was told before (``alike``) or another."""
        if index > self.last:
            self.steps, self.last = self.steps + 1, index
        self.other_times += not alike

    def went_back(self, index: int, stride: int) -> bool:
        """Whether the counter went back there, if it now comes to ``index``: no rank echoes."""
        return 0 < self.steps < ENOUGH and self.other_times > 0 and self.ended(index, stride)

    def state(self) -> list[int]:
        """Return plain data."""
        counted = [self.last, self.steps, self.other_times]
        return [*counted, self.first, self.first_line, self.came_from]
