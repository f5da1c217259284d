"""Device time by ``ProfilerStep#N``: a row belongs to the step that launched it.

Where the trace does not hold the call that did, to the step in which it begins. What Kineto writes
as a step's window on the device (``gpu_user_annotation``) is not used: it holds what the annotated
thread launched, and leaves out the backward pass of threads of their own (pytorch/kineto#1022).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pfid.analysis.kernel_table import OUTSIDE, KernelTable, in_order
from pfid.domain.kernel import KernelClass
from pfid.domain.trace_rows import StepWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDeviceTime:
    """One step; ``wall_ns`` reaches to the begin of the next one.

    Calls, sum and classes are of what the step launched, whenever it ran; ``union_ns`` is how long
    the device was busy while the step lasted, with whatever it was given.
    """

    number: int
    wall_ns: int
    calls: int
    sum_ns: int
    union_ns: int
    classes_ns: dict[KernelClass, int]


def by_step(table: KernelTable, steps: Iterable[StepWindow]) -> tuple[StepDeviceTime, ...]:
    """Return every step, none of them where ``table.why_no_steps`` tells why."""
    windows = in_order(steps)
    if table.why_no_steps:
        return ()
    ends = [window.start_ns for window in windows[1:]] + [w.end_ns for w in windows[-1:]]
    return tuple(_step(table, one, end) for one, end in zip(windows, ends, strict=True))


def outside(table: KernelTable) -> tuple[int, int]:
    """Return calls and nanoseconds of the rows that belong to no step."""
    return (
        sum(calls for (step, _), calls in table.step_calls.items() if step == OUTSIDE),
        sum(ns for (step, _), ns in table.step_ns.items() if step == OUTSIDE),
    )


def _step(table: KernelTable, window: StepWindow, end_ns: int) -> StepDeviceTime:
    classes: dict[KernelClass, int] = {}
    calls = 0
    for (step, kernel), ns in table.step_ns.items():
        if step == window.number:
            kind = table.tallies[kernel].identity.kind
            classes[kind] = classes.get(kind, 0) + ns
            calls += table.step_calls[step, kernel]
    return StepDeviceTime(
        number=window.number,
        wall_ns=end_ns - window.start_ns,
        calls=calls,
        sum_ns=sum(classes.values()),
        union_ns=sum(u.length_within(window.start_ns, end_ns) for u in table.busy.values()),
        classes_ns=classes,
    )
