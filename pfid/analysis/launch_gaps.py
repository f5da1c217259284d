"""What a device waits for between kernels: the next launch, or something longer.

Source: playbook section 1 (launch-bound: a fixed cost per launch) and 3.8. A host that launches one
kernel after the other leaves a gap of microseconds before each; one that waits for data, for a
file or for its own synchronisation leaves few and long ones. The sum of idle time cannot tell
these apart, the gaps can.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pfid.analysis.kernel_table import OUTSIDE, KernelTable, in_order
from pfid.domain.trace_rows import StepWindow

SHORT_GAP_NS: Final = 200_000
"""A launch out of Python costs 5 to 100 us with everything around it; twice that is no launch."""
LAUNCH_SHARE_MIN: Final = 0.5
"""Share of idle time in short gaps from which on launches are what the device waits for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchGaps:
    """Of all devices, between the first and the last step, or the first and the last row.

    Attributes:
        launches: rows of the device.
        steps: in which they were counted; 0 where the trace has none.
        wall_ns: of all devices.
        short_ns: idle in gaps of a launch's length.
        long_ns: idle in longer ones.
        longest_ns: the longest gap.
        mean_ns: of a row.
    """

    launches: int
    steps: int
    wall_ns: int
    short_ns: int
    long_ns: int
    longest_ns: int
    mean_ns: float

    @property
    def per_step(self) -> float | None:
        """Launches a step; None without steps."""
        return self.launches / self.steps if self.steps else None

    @property
    def launch_bound(self) -> bool:
        """Whether what the device waits for is launches."""
        idle_ns = self.short_ns + self.long_ns
        return idle_ns > 0 and self.short_ns >= LAUNCH_SHARE_MIN * idle_ns


def launch_gaps(table: KernelTable, steps: Iterable[StepWindow]) -> LaunchGaps | None:
    """Measure the gaps; None without rows or without any time."""
    windows = in_order(steps)
    bounds = table.span
    if windows:
        bounds = (windows[0].start_ns, max(window.end_ns for window in windows))
    if table.span is None or bounds is None or bounds[1] <= bounds[0]:
        return None
    short_ns = long_ns = longest_ns = 0
    for gaps in (found for union in table.busy.values() for found in union.gaps_within(*bounds)):
        brief = gaps <= SHORT_GAP_NS
        short_ns += int(gaps[brief].sum())
        long_ns += int(gaps[~brief].sum())
        longest_ns = max(longest_ns, int(gaps.max(initial=0)))
    stepped = bool(windows) and not table.why_no_steps
    if stepped:
        launches = sum(n for (step, _), n in table.step_calls.items() if step != OUTSIDE)
    else:
        launches = sum(tally.calls for tally in table.used)
    rows = sum(tally.calls for tally in table.used)
    return LaunchGaps(
        launches=launches,
        steps=len(windows) if stepped else 0,
        wall_ns=(bounds[1] - bounds[0]) * len(table.busy),
        short_ns=short_ns,
        long_ns=long_ns,
        longest_ns=longest_ns,
        mean_ns=sum(tally.total_ns for tally in table.used) / rows if rows else 0.0,
    )
