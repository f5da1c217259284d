"""GPUs without a daemon: a sampler of our own for a few seconds, and the same view of them."""

import os
import queue
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Final, Self

from pfid.adapters.gpu_references import load_references
from pfid.adapters.gpu_worker import (
    GpuEvent,
    GpuSaid,
    GpuSamplerGone,
    GpusOnBus,
    GpuWorker,
    pids_are_ours,
)
from pfid.adapters.host_pids import host_pids
from pfid.adapters.process_identity import machine_id
from pfid.adapters.process_table import ProcessTable
from pfid.bootstrap.gpu_gates import command_gate
from pfid.bootstrap.gpu_plugins import PLUGINS, SamplerPlugins
from pfid.bootstrap.gpu_withheld import withheld_here
from pfid.bootstrap.sources import Gathered, Source, SourceKind
from pfid.config.paths import user_state_dir
from pfid.daemon.gpu_box import GpuBox, SamplerState
from pfid.daemon.gpu_holders import COMM_CHARS, Holders, InTree, RunTree
from pfid.daemon.gpu_views import gpus_view
from pfid.domain.errors import ConfigError
from pfid.domain.gpu import NVML
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.gpu_view import GpusView
from pfid.domain.run import Run
from pfid.domain.snapshot import Snapshot
from pfid.formats.untrusted import printable
from pfid.spec.ports.gpus import SamplerProblem
from pfid.wire.gpu import Beat, Opened, Read, Report, Trouble

INTERVAL_S: Final = 0.5
OPEN_S: Final = 30.0
"""Starting a driver that nobody keeps loaded takes seconds a card."""
GIVE_UP: Final = frozenset(SamplerProblem) - {SamplerProblem.NONE, SamplerProblem.STARTING}
NO_OTHERS: Final = SamplerPlugins()
BEATS: Final = 2
"""Signs of life from the plugins' process after which, with no GPU named, there is none: the first
comes before anything was tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What was seen, and by whom: ``daemon``, ``engine`` or ``own``."""

    source: str
    view: GpusView


def told_by(found: Gathered) -> Looked | None:
    """The view of somebody who samples already: the daemon's, else a living engine's."""
    sources = sorted(found.sources, key=lambda s: s.kind is not SourceKind.DAEMON)
    for source in sources:
        view = source.snapshot.gpus
        if view is not None and source.kind is not SourceKind.ENDED_ENGINE:
            return Looked(source=source.kind.value, view=view)
    return None


class OwnLook:
    """A sampler of our own; runs are known from whoever watches them."""

    def __init__(
        self, sources: tuple[Source, ...] = (), others: SamplerPlugins = NO_OTHERS
    ) -> None:
        """Know the runs of ``sources``, and whether one of them was told to leave the driver be.

        Args:
            sources: whoever watches this box.
            others: plugins that may bring samplers of other vendors.
        """
        self._events: queue.SimpleQueue[tuple[str, GpuEvent]] = queue.SimpleQueue()
        self._worker = GpuWorker(
            partial(self._put, NVML), interval_s=INTERVAL_S, gate=command_gate()
        )
        self._others = _others(others, partial(self._put, PLUGINS))
        self._beats = 0
        self.box = GpuBox(
            interval_s=INTERVAL_S,
            pids_are_ours=pids_are_ours(),
            own_pid=host_pids().own_pid,
            why_withheld=withheld_here,
            point_s=INTERVAL_S / 2,
            references=_own_references(),
        )
        state = self.box.sampler(NVML, time.monotonic())
        if self._others is not None:
            self.box.sampler(PLUGINS, time.monotonic())
        self._forbidden = any(_stopped(source) for source in sources)
        if self._forbidden:
            state.problem = SamplerProblem.FATAL_XID
        self._processes = ProcessTable()
        self._holders = Holders(
            self._processes, pids_are_ours=self.box.pids_are_ours, own_pid=self.box.own_pid
        )
        runs = [view for source in sources for view in source.snapshot.runs]
        self._roots = {v.run.identity.pid: v.run for v in runs if v.end is None}
        self._names = {v.run.run_id: str(v.run.name) for v in runs}
        self._began_s: float | None = None
        self._looked = False

    def __enter__(self) -> Self:
        if not self._forbidden:
            self._worker.start()
        if self._others is not None:
            self._others.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._worker.close()
        if self._others is not None:
            self._others.close()

    def _put(self, whose: str, event: GpuEvent) -> None:
        self._events.put((whose, event))

    @property
    def began_s(self) -> float:
        """When the first reading came, monotonic; now if there was none."""
        return self._began_s or time.monotonic()

    def look(self, for_s: float, *, open_s: float = OPEN_S) -> GpusView:
        """Sample for so long, or find out that there is nothing to be sampled.

        Whoever looks again though there was nothing waits as long: it may come. ``open_s``: for so
        long the driver may take to answer.
        """
        if self._looked and self._hopeless:
            self._take(time.monotonic() + for_s, until=lambda: not self._hopeless)
        self._looked = True
        self._take(time.monotonic() + open_s, until=lambda: self._answered)
        self._take(time.monotonic() + for_s, until=lambda: self._hopeless)
        now_s = time.monotonic()
        seen_s = now_s - (self._began_s or now_s)
        return gpus_view(self.box, now_s, self._names, window_s=max(min(seen_s, 60.0), 1.0))

    def _take(self, ends_s: float, until: Callable[[], bool]) -> None:
        while not until():
            left_s = ends_s - time.monotonic()
            if left_s <= 0:
                return
            try:
                self._event(*self._events.get(timeout=left_s))
            except queue.Empty:
                return

    @property
    def _answered(self) -> bool:
        """Whether each of the processes has brought a reading, or never will."""
        read = {NVML if name == NVML else PLUGINS for name, s in self._states if s.read_s}
        return all(
            name in read or self.box.samplers[name].problem in GIVE_UP for name in self._asked
        )

    @property
    def _hopeless(self) -> bool:
        return all(self.box.samplers[name].problem in GIVE_UP for name in self._asked)

    @property
    def _asked(self) -> tuple[str, ...]:
        return (NVML,) if self._others is None else (NVML, PLUGINS)

    @property
    def _states(self) -> Iterable[tuple[str, SamplerState]]:
        return self.box.samplers.items()

    def _event(self, whose: str, event: GpuEvent) -> None:
        now_s = time.monotonic()
        if isinstance(event, GpusOnBus):
            self.box.on_bus = event.bus_ids
        elif isinstance(event, GpuSamplerGone):
            self.box.troubled(whose, event.problem, now_s)
        elif isinstance(event, GpuSaid):
            if whose == PLUGINS:
                self._of_plugins(event.report, now_s)
            self._report(event.report, now_s)

    def _report(self, report: Report, now_s: float) -> None:
        if isinstance(report, Opened):
            self.box.opened(report, now_s)
        elif isinstance(report, Trouble):
            self.box.trouble(report, now_s)
        elif isinstance(report, Read):
            self._read(report, now_s)

    def _of_plugins(self, report: Report, now_s: float) -> None:
        """Conclude how their process does, which has no word of its own for it."""
        if isinstance(report, Opened | Read):
            self.box.troubled(PLUGINS, SamplerProblem.NONE, now_s)
        elif isinstance(report, Trouble) and report.leaving:
            self.box.troubled(PLUGINS, report.problem, now_s)
        elif isinstance(report, Beat):
            self._beats += 1
            silent = self.box.samplers[PLUGINS].problem is SamplerProblem.STARTING
            if silent and self._beats >= BEATS:
                self.box.troubled(PLUGINS, SamplerProblem.OTHER, now_s)

    def _read(self, report: Read, now_s: float) -> None:
        self._began_s = self._began_s or now_s
        for gpu in self.box.read(report, now_s, lambda _: None):
            listed = gpu.samples[-1].processes
            if listed is None:
                gpu.holders = None
            elif listed != gpu.listed or gpu.holders is None:
                here = self._holders.here(listed).values()
                members = {pid: m for pid in here if (m := self._member(pid)) is not None}
                runs = {run: RunTree(ended=False, defunct=False) for run in self._names}
                gpu.holders = self._holders.of(gpu, listed, members, runs)
            gpu.listed = listed
            gpu.changed()

    def _member(self, pid: int) -> InTree | None:
        run = self._run_of(pid)
        stat = None if run is None else self._processes.inspect(pid)
        if run is None or stat is None or stat.dead:
            return None
        return InTree(
            run_id=run.run_id,
            start_ticks=stat.start_ticks,
            comm=printable(stat.comm, COMM_CHARS),
            uid=run.uid,
            username=run.username,
        )

    def _run_of(self, pid: int) -> Run | None:
        """The run a process descends from, as far as its parents still live."""
        for _ in range(64):
            if pid in self._roots:
                return self._roots[pid]
            stat = self._processes.inspect(pid)
            if stat is None or stat.parent_pid <= 1:
                return None
            pid = stat.parent_pid
        return None


def _others(found: SamplerPlugins, put: Callable[[GpuEvent], None]) -> GpuWorker | None:
    if not found.places:
        return None
    return GpuWorker(
        put,
        interval_s=INTERVAL_S,
        plugins=found.places,
        gate=command_gate(PLUGINS),
        memory_max_bytes=found.memory_max_bytes,
    )


def _stopped(source: Source) -> bool:
    """Whether a fatal error keeps somebody who watches this box from its driver."""
    view = source.snapshot.gpus
    living = source.kind is not SourceKind.ENDED_ENGINE
    return living and view is not None and view.problem == SamplerProblem.FATAL_XID.value


def _own_references() -> dict[str, GpuReference]:
    """What this user measured; a user without a home has measured nothing."""
    try:
        return load_references(user_state_dir(os.environ, machine_id()))
    except ConfigError:
        return {}


def gpus_of_run(snapshots: Iterable[Snapshot], run_id: str) -> GpusView | None:
    """The view that knows of a run's GPUs, None if nobody samples."""
    views = [s.gpus for s in snapshots if s.gpus is not None]
    for view in views:
        if any(h.run_id == run_id for g in view.gpus for h in g.holders or ()):
            return view
    return views[0] if views else None
