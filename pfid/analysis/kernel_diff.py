"""Two kernel tables beside each other, per step where both have steps."""

from collections.abc import Mapping
from dataclasses import dataclass

from pfid.analysis.kernel_table import OUTSIDE, KernelTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Launches and device time of one kernel or class, in one trace or in one of its steps."""

    calls: float
    total_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One name in both traces; None where it is not there."""

    name: str
    before: Amount | None
    after: Amount | None

    @property
    def delta_ns(self) -> float:
        """How much more device time the second trace has."""
        return (self.after.total_ns if self.after else 0.0) - (
            self.before.total_ns if self.before else 0.0
        )


def amounts(
    table: KernelTable, per_steps: int | None
) -> tuple[dict[str, Amount], dict[str, Amount]]:
    """Return amounts by kernel name and by class.

    Args:
        table: of one trace.
        per_steps: number of steps to divide by; rows outside of steps are left out then.
    """
    kernels: dict[str, tuple[int, int]] = {}
    classes: dict[str, tuple[int, int]] = {}
    for index, tally in enumerate(table.tallies):
        calls, total_ns = tally.calls, tally.total_ns
        if per_steps:
            calls -= table.step_calls.get((OUTSIDE, index), 0)
            total_ns -= table.step_ns.get((OUTSIDE, index), 0)
        if calls:
            for sums, name in ((kernels, tally.key.name), (classes, tally.identity.kind.value)):
                before = sums.get(name, (0, 0))
                sums[name] = (before[0] + calls, before[1] + total_ns)
    return _divided(kernels, per_steps or 1), _divided(classes, per_steps or 1)


def changes(before: Mapping[str, Amount], after: Mapping[str, Amount]) -> tuple[Change, ...]:
    """Return every name of either trace, the greatest change first."""
    found = [
        Change(name=name, before=before.get(name), after=after.get(name))
        for name in before.keys() | after.keys()
    ]
    return tuple(sorted(found, key=lambda change: (-abs(change.delta_ns), change.name)))


def _divided(sums: Mapping[str, tuple[int, int]], by: int) -> dict[str, Amount]:
    return {
        name: Amount(calls=calls / by, total_ns=total_ns / by)
        for name, (calls, total_ns) in sums.items()
    }
