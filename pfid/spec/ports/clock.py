"""Two clocks, two meanings: monotonic for durations, wall for display."""

from typing import Protocol


class ClockPort(Protocol):
    """The time, as the check may know it."""

    def now_s(self) -> float:
        """Wall time, Unix seconds. For display and ages of things written by others."""
        ...

    def monotonic_s(self) -> float:
        """Monotonic seconds, arbitrary origin. For durations."""
        ...
