"""Steps that a line without a rank tells once more: another rank's word, or a restart's.

Ranks that wait for one another cannot go on to the step after next before all have told a step;
two launches drift apart, and then they are further. So the times decide nothing while the counters
go in lock-step. A step that is told again once or twice and then never is a counter that went back.
"""

from typing import Final

ENOUGH: Final = 3
"""Steps that were told again until another rank is held to be what tells them."""


class Echoes:
    """The steps of one series that were told again."""

    __slots__ = ("last", "other_times", "steps")

    def __init__(self, last: int = -1, steps: int = 0, other_times: int = 0) -> None:
        """Go on from :meth:`state`, or begin."""
        self.last = last
        """The newest of them."""
        self.steps = steps
        """How many there were."""
        self.other_times = other_times
        """How many lines of them told another time than the first one."""

    def hear(self, index: int, *, alike: bool) -> None:
        """Take one in."""
        if index > self.last:
            self.steps, self.last = self.steps + 1, index
        self.other_times += not alike

    def went_back(self, newest: int, stride: int) -> bool:
        """Whether the counter went back there, now that it is at ``newest``: no rank echoes."""
        passed = newest - self.last > 2 * stride
        return passed and self.other_times > 0 and self.steps < ENOUGH

    def state(self) -> list[int]:
        """Return plain data."""
        return [self.last, self.steps, self.other_times]
