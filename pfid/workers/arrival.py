"""When the newest bytes of a file were written, finer than the interval of looking at it."""

import time
from typing import Final

_NS: Final = 1e-9


class ArrivalClock:
    """Wall time whose differences are true: read once, carried on by the boot-time clock.

    A clock that is set while a run is followed must not become a step time.
    """

    __slots__ = ("_anchor_s",)

    def __init__(self) -> None:
        """Read both clocks."""
        self._anchor_s = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)

    def now_s(self) -> float:
        """Return Unix seconds, steady."""
        return self._anchor_s + time.clock_gettime(time.CLOCK_BOOTTIME)

    def written_at_s(self, modified_ns: int, looked_before_s: float) -> float:
        """Return when the newest bytes were written.

        Args:
            modified_ns: the file's modification time, by the clock of whoever keeps it.
            looked_before_s: when the file was last seen without those bytes, by ``now_s``.
        """
        now_s = self.now_s()
        age_s = time.time() - modified_ns * _NS
        return min(max(now_s - age_s, looked_before_s), now_s)
