"""The kernel table: calls, total, least, p50, most of each kernel, sums and unions, by step.

Everything is exact in nanoseconds. Rows are folded in blocks, so memory follows the kernels and
the gaps between rows, not the rows; p50 is exact to a million distinct durations and more (see
``kernel_durations``).

A row belongs to the step that launched it, where the trace holds the call that did: a host that
runs ahead is a step or more before its device. Rows whose call is missing are given to the step in
which they begin; those that begin behind the last step may be of any, and are counted.

Of several processes in one file (ranks that were merged) nothing is said by step: each has steps of
the same numbers, and calls under the same correlations.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pfid.analysis.interval_union import IntervalUnion
from pfid.analysis.kernel_calls import NOT_MADE, Calls
from pfid.analysis.kernel_durations import DurationCounts
from pfid.domain.kernel import KernelClass, KernelIdentity, KernelKey
from pfid.domain.trace_rows import DeviceRows, StepWindow, TraceNames

Ints = NDArray[np.int64]
FOLD_ROWS: Final = 1 << 18
EXACT_DURATIONS: Final = 1_000_000
OUTSIDE: Final = -1
"""Step number of rows launched before the first step or behind the last, or begun there."""
WAITING_ROWS: Final = 1 << 19
"""So many rows wait for calls that stand behind them in the file."""


@dataclass(slots=True, kw_only=True)
class KernelTally:
    """One kernel's figures; ``p50_error`` is the share by which p50 may be low, 0 when exact."""

    key: KernelKey
    identity: KernelIdentity
    calls: int = 0
    total_ns: int = 0
    min_ns: int = 2**63 - 1
    max_ns: int = 0
    durations: DurationCounts


@dataclass(frozen=True, slots=True)
class _Placing:
    """Rows on their way to a step, in columns."""

    starts: Ints
    durations: Ints
    kernels: Ints
    launches: Ints

    def only(self, mask: NDArray[np.bool_]) -> "_Placing":
        """Return some of them."""
        columns = (self.starts, self.durations, self.kernels, self.launches)
        return _Placing(*(column[mask] for column in columns))


class KernelTable:
    """Takes rows in any order and any portions."""

    def __init__(self, names: TraceNames, identify: Callable[[KernelKey], KernelIdentity]) -> None:
        """Begin empty; ``names`` may grow while rows come."""
        self._names = names
        self._identify = identify
        self._waiting: list[DeviceRows] = []
        self._waiting_rows = 0
        self._steps: Mapping[int, StepWindow] = {}
        self.tallies: list[KernelTally] = []
        self.unions: dict[tuple[str, KernelClass], IntervalUnion] = {}
        self.busy: dict[str, IntervalUnion] = {}
        self.step_calls: dict[tuple[int, int], int] = {}
        self.step_ns: dict[tuple[int, int], int] = {}
        self.folded_steps: set[int] | None = None
        self.steps_late = False
        self.begun_ns = 0
        self.unplaced: dict[int, int] = {}
        self.processes = 1
        self.shared_calls = 0
        self._calls = Calls()
        self._without_call: list[_Placing] = []
        self.twins = 0
        self.twin_example: str | None = None
        self.kernel_span: tuple[int, int] | None = None
        self.span: tuple[int, int] | None = None

    def add(self, rows: DeviceRows, steps: Mapping[int, StepWindow]) -> None:
        """Take rows, and the steps known by now."""
        self._calls.add(np.asarray(rows.call), np.asarray(rows.call_ns))
        if len(rows):
            self._waiting.append(rows)
            self._waiting_rows += len(rows)
        self._steps = steps
        if self._waiting_rows >= FOLD_ROWS:
            self._fold()

    def finish(self, steps: Mapping[int, StepWindow], processes: int = 1) -> None:
        """Fold what waits; ``steps`` are all there are, of so many ``processes`` of the host."""
        self._steps = steps
        self.processes = max(processes, 1)
        self._fold()
        waiting, self._without_call = self._without_call, []
        for one in waiting:
            self._assign(one, self._calls.made(one.launches))
        self.shared_calls = self._calls.shared

    @property
    def merged(self) -> bool:
        """Whether several processes are in one file, be they told by their numbers or not."""
        return self.processes > 1 or self.shared_calls > 0

    @property
    def why_no_steps(self) -> str:
        """Why nothing can be said by step, although there are steps; empty if it can."""
        if self.merged:
            return "several processes are in one file; give the trace of each rank by itself"
        return "its steps are told too late" if self.steps_late else ""

    @property
    def used(self) -> list[KernelTally]:
        """Kernels with rows, the most time first."""
        rows = [tally for tally in self.tallies if tally.calls]
        return sorted(rows, key=lambda tally: (-tally.total_ns, tally.key.name))

    def _fold(self) -> None:
        blocks, self._waiting, self._waiting_rows = self._waiting, [], 0
        if not blocks:
            return
        starts, durations = _joined(blocks, "start_ns"), _joined(blocks, "duration_ns")
        kernels, tracks = _joined(blocks, "kernel"), _joined(blocks, "track")
        launched = [
            np.asarray(block.launch) if len(block.launch) else np.zeros(len(block), dtype=np.int64)
            for block in blocks
        ]
        blocks.clear()
        self._name_new_kernels()
        self._count(kernels, durations)
        self._cover(starts, starts + durations, kernels, tracks)
        launches = np.concatenate(launched)
        self._place(_Placing(starts, durations, kernels, launches))
        self._find_twins(starts, durations, kernels, tracks)
        self._bound()

    def _name_new_kernels(self) -> None:
        for key in self._names.kernels[len(self.tallies) :]:
            identity = self._identify(key)
            self.tallies.append(KernelTally(key=key, identity=identity, durations=DurationCounts()))

    def _count(self, kernels: Ints, durations: Ints) -> None:
        order = np.argsort(kernels, kind="stable")
        bounds = np.flatnonzero(np.diff(kernels[order])) + 1
        for part in np.split(order, bounds):
            tally, mine = self.tallies[int(kernels[part[0]])], durations[part]
            tally.calls += len(mine)
            tally.total_ns += int(mine.sum())
            tally.min_ns = min(tally.min_ns, int(mine.min()))
            tally.max_ns = max(tally.max_ns, int(mine.max()))
            tally.durations.add(mine)

    def _cover(self, starts: Ints, ends: Ints, kernels: Ints, tracks: Ints) -> None:
        kinds = list(KernelClass)
        kind_of = np.array([kinds.index(tally.identity.kind) for tally in self.tallies])
        kind, is_memory = kind_of[kernels], kinds.index(KernelClass.MEMORY)
        devices = [track.device for track in self._names.tracks]
        for device in sorted(set(devices)):
            here = np.array([one == device for one in devices])[tracks]
            if not here.any():
                continue
            self.busy.setdefault(device, IntervalUnion()).add(starts[here], ends[here])
            for number in np.unique(kind[here]):
                mine = here & (kind == number)
                union = self.unions.setdefault((device, kinds[number]), IntervalUnion())
                union.add(starts[mine], ends[mine])
        self.span = _widened(self.span, starts, ends)
        only = kind != is_memory
        if only.any():
            self.kernel_span = _widened(self.kernel_span, starts[only], ends[only])

    def _place(self, rows: "_Placing") -> None:
        """Give rows to steps now, but those whose call may stand further behind in the file."""
        made = self._calls.made(rows.launches)
        later = (made == NOT_MADE) & (rows.launches > 0)
        room = WAITING_ROWS - sum(len(one.starts) for one in self._without_call)
        if len(self._calls) and later.any() and np.count_nonzero(later) <= room:
            self._without_call.append(rows.only(later))
            rows, made = rows.only(~later), made[~later]
        self._assign(rows, made)

    def _assign(self, rows: "_Placing", made: Ints) -> None:
        """Give each row to the step in which it was launched, or in which it begins."""
        starts, durations, kernels = rows.starts, rows.durations, rows.kernels
        windows = in_order(self._steps.values())
        numbers = {window.number for window in windows}
        if self.folded_steps is not None and numbers != self.folded_steps:
            self.steps_late = True
        self.folded_steps = numbers
        if not windows:
            return
        begins = np.array([window.start_ns for window in windows], dtype=np.int64)
        end_ns = windows[-1].end_ns
        self.begun_ns += int(durations[(starts >= begins[0]) & (starts < end_ns)].sum())
        unplaced = kernels[(made == NOT_MADE) & (starts >= end_ns)]
        for kernel, calls in zip(*np.unique(unplaced, return_counts=True), strict=True):
            self.unplaced[int(kernel)] = self.unplaced.get(int(kernel), 0) + int(calls)
        when = np.where(made == NOT_MADE, starts, made)
        at = np.searchsorted(begins, when, side="right") - 1
        at[when >= end_ns] = OUTSIDE
        width = len(self.tallies)
        cells = (at + 1) * width + kernels
        used, inverse, counts = np.unique(cells, return_inverse=True, return_counts=True)
        sums = np.zeros(len(used), dtype=np.int64)
        np.add.at(sums, inverse, durations)
        for cell, calls, total in zip(used, counts, sums, strict=True):
            step = windows[int(cell) // width - 1].number if cell >= width else OUTSIDE
            key = (step, int(cell) % width)
            self.step_calls[key] = self.step_calls.get(key, 0) + int(calls)
            self.step_ns[key] = self.step_ns.get(key, 0) + int(total)

    def _find_twins(self, starts: Ints, durations: Ints, kernels: Ints, tracks: Ints) -> None:
        """Count rows that say exactly what another row says: one launch written twice."""
        shared = _shared(starts)
        if not len(shared):
            return
        order = shared[
            np.lexsort((tracks[shared], kernels[shared], durations[shared], starts[shared]))
        ]
        same = np.ones(len(order) - 1, dtype=bool)
        for column in (starts, durations, kernels, tracks):
            same &= np.diff(column[order]) == 0
        same &= durations[order][1:] > 0
        self.twins += int(np.count_nonzero(same))
        if self.twin_example is None and same.any():
            row = order[int(np.flatnonzero(same)[0])]
            self.twin_example = self.tallies[int(kernels[row])].key.name

    def _bound(self) -> None:
        while sum(len(tally.durations) for tally in self.tallies) > EXACT_DURATIONS:
            exact = [tally for tally in self.tallies if not tally.durations.coarse]
            if not exact:
                return
            max(exact, key=lambda tally: len(tally.durations)).durations.coarsen()


def in_order(steps: Iterable[StepWindow]) -> list[StepWindow]:
    """Return steps by their begin."""
    return sorted(steps, key=lambda window: (window.start_ns, window.number))


def _shared(values: Ints) -> Ints:
    """Return where values stand that occur more than once."""
    order = np.argsort(values, kind="stable")
    equal = np.diff(values[order]) == 0
    found: Ints = order[np.append(equal, False) | np.insert(equal, 0, False)]
    return found


def _joined(blocks: Sequence[DeviceRows], column: str) -> Ints:
    return np.concatenate([np.asarray(getattr(block, column)).astype(np.int64) for block in blocks])


def _widened(span: tuple[int, int] | None, starts: Ints, ends: Ints) -> tuple[int, int]:
    first, last = int(starts.min()), int(ends.max())
    return (first, last) if span is None else (min(span[0], first), max(span[1], last))
