"""Does the kernel table explain the wall clock? Device time over wall time, and what is odd in it.

Source: playbook 3.4. Closure is the union over the wall clock, by device; the sum stands beside
it. Above 100 % something is counted twice or runs side by side, below 60 % the device waits.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pfid.analysis.kernel_table import KernelTable, in_order
from pfid.domain.trace_rows import StepWindow

LOW_CLOSURE: Final = 0.60
WHOLE: Final = 1.0


class WallSource(Enum):
    """Where the wall clock comes from."""

    GIVEN = "given"
    STEPS = "steps"
    SPAN = "span"
    """No steps in the trace: first begin to last end of its device rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """Device time against the wall clock.

    Attributes:
        sum_share: sum of rows over wall clock and devices.
        union_share: busy time over wall clock and devices.
    """

    wall_ns: int
    source: WallSource
    devices: int
    sum_share: float
    union_share: float

    @property
    def low(self) -> bool:
        """Whether the table cannot explain the wall clock."""
        return self.union_share < LOW_CLOSURE

    @property
    def over(self) -> bool:
        """Whether the sum of rows is more than the wall clock."""
        return self.sum_share > WHOLE


def close(
    table: KernelTable, steps: Iterable[StepWindow], wall_ns: int | None = None
) -> Closure | None:
    """Hold the table against the wall clock; None without rows or without any time."""
    if table.span is None:
        return None
    windows = in_order(steps)
    total_ns = sum(tally.total_ns for tally in table.used)
    if wall_ns is not None:
        return _closure(table, WallSource.GIVEN, wall_ns, total_ns, table.span)
    if windows:
        bounds = (windows[0].start_ns, max(window.end_ns for window in windows))
        if not table.steps_late:
            total_ns = table.begun_ns
        return _closure(table, WallSource.STEPS, bounds[1] - bounds[0], total_ns, bounds)
    return _closure(table, WallSource.SPAN, table.span[1] - table.span[0], total_ns, table.span)


def _closure(
    table: KernelTable, source: WallSource, wall_ns: int, total_ns: int, bounds: tuple[int, int]
) -> Closure | None:
    devices = len(table.busy)
    if wall_ns <= 0:
        return None
    busy_ns = sum(union.length_within(*bounds) for union in table.busy.values())
    return Closure(
        wall_ns=wall_ns,
        source=source,
        devices=devices,
        sum_share=total_ns / (wall_ns * devices),
        union_share=busy_ns / (wall_ns * devices),
    )
