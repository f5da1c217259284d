"""The kernel's clocks."""

import time


def booted_at_s() -> float:
    """Wall time of the boot, Unix seconds."""
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


class SystemClock:
    """Wall time for display, CLOCK_MONOTONIC for durations and due-times.

    CLOCK_MONOTONIC is the same for every process of one boot: what was stored before a restart of
    the daemon stays comparable until the next reboot.
    """

    def now_s(self) -> float:
        """Wall time, Unix seconds."""
        return time.time()

    def monotonic_s(self) -> float:
        """Monotonic seconds since boot, suspended time left out."""
        return time.monotonic()
