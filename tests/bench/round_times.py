"""How long each round of something takes."""

import time
from collections.abc import Callable


def timed(
    act: Callable[[], object], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Milliseconds of each round, by a clock."""
    took = []
    for _ in range(rounds):
        began_s = clock()
        act()
        took.append(1000 * (clock() - began_s))
    return took


def for_so_long(act: Callable[[], object], seconds: float) -> list[float]:
    """Milliseconds of each time, a hundred times a second for so long."""
    took: list[float] = []
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        took += timed(act, 1)
        time.sleep(0.01)
    return took


def rank(values: list[float], share: float) -> float:
    """The value that such a share of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
