"""Gaps between rows of a device: short ones are launches, long ones something else."""

from array import array

import pytest

from pfid.analysis.kernel_table import KernelTable
from pfid.analysis.launch_gaps import SHORT_GAP_NS, launch_gaps
from pfid.domain.kernel import DeviceCategory, KernelClass, KernelIdentity, KernelKey
from pfid.domain.trace_rows import DeviceRows, StepWindow, TraceNames, Track


def table(*rows, steps=None, devices=("0",)):
    """Rows of (begin, duration, track)."""
    names = TraceNames(
        kernels=[KernelKey(DeviceCategory.KERNEL, "k")],
        tracks=[Track(device, "7") for device in devices],
    )
    found = KernelTable(names, lambda _: KernelIdentity(kind=KernelClass.GEMM))
    if rows:
        starts, durations, tracks = zip(*rows, strict=True)
        found.add(
            DeviceRows(
                start_ns=array("q", starts),
                duration_ns=array("q", durations),
                kernel=array("I", [0] * len(rows)),
                track=array("I", tracks),
            ),
            steps or {},
        )
    found.finish(steps or {})
    return found


def test_gaps_are_parted_at_the_limit():
    at = (0, 10 + SHORT_GAP_NS, 20 + SHORT_GAP_NS + SHORT_GAP_NS + 1)
    found = launch_gaps(table(*((begin, 10, 0) for begin in at)), ())
    assert (found.short_ns, found.long_ns) == (SHORT_GAP_NS, SHORT_GAP_NS + 1)
    assert found.longest_ns == SHORT_GAP_NS + 1
    assert (found.launches, found.per_step, found.mean_ns) == (3, None, 10)
    assert not found.launch_bound


def test_the_steps_are_the_bounds_and_idle_at_their_edges_counts():
    steps = {1: StepWindow(1, 100, 200), 2: StepWindow(2, 200, 300)}
    found = launch_gaps(table((0, 120, 0), (150, 20, 0), (290, 50, 0), steps=steps), steps.values())
    assert found.short_ns == 30 + 120
    assert (found.wall_ns, found.launches, found.per_step) == (200, 2, 1)
    assert found.launch_bound


def test_devices_add_up_and_a_busy_one_waits_for_nothing():
    both = launch_gaps(table((0, 100, 0), (0, 40, 1), (60, 40, 1), devices=("0", "1")), ())
    assert (both.short_ns, both.wall_ns) == (20, 200)
    full = launch_gaps(table((0, 100, 0)), ())
    assert (full.short_ns, full.long_ns, full.launch_bound) == (0, 0, False)


@pytest.mark.parametrize("rows", [(), ((5, 0, 0),)])
def test_without_rows_or_time_there_are_no_gaps(rows):
    assert launch_gaps(table(*rows), ()) is None
