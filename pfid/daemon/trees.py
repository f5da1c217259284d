"""The sweep: who belongs to which run, what it uses, and whether it is stopped.

Known members are read through kept descriptors. Strangers are looked at when they first appear,
and all of them again now and then, because a number can be reused between two looks. The work is
cut into slices, so that a death never waits for a sweep of a large box.
"""

import time
from collections.abc import Iterator
from typing import Final

from pfid.daemon.core import Core
from pfid.daemon.deaths import Deaths
from pfid.daemon.judging import Judging
from pfid.daemon.tracked import Member, TrackedRun
from pfid.domain.names import RunId
from pfid.domain.process_stat import ProcStat
from pfid.formats.untrusted import printable
from pfid.policy.process_tree import Tree, newcomers

SAMPLER: Final = "proc"
SLICE_S: Final = 0.001
FULL_EVERY: Final = 12
"""Every so many sweeps strangers are looked at afresh."""
EARLY_S: Final = (0.05, 0.2, 0.5, 1.0, 2.0)
"""A young run is swept at these ages as well: parents of a double fork do not live long."""
STOPPED: Final = "T"
MEMBERS_MAX: Final = 4096
"""Processes held for one run; a fork bomb must not take all descriptors."""


class Trees:
    """Sweeps every run's tree."""

    def __init__(self, core: Core, judging: Judging, deaths: Deaths, own_pid: int) -> None:
        """Sweep for ``core``; ``own_pid`` and its children belong to nobody."""
        self._core = core
        self._judging = judging
        self._deaths = deaths
        self._own_pid = own_pid
        self._strangers: dict[int, ProcStat] = {}
        self._sweeps = 0
        self._work: Iterator[None] | None = None
        self._again = False

    def begin(self) -> None:
        """Start a sweep, or one more if one is on its way."""
        if self._work is None:
            self._work = self._sweep()
        else:
            self._again = True

    @property
    def busy(self) -> bool:
        """Whether a sweep is on its way."""
        return self._work is not None

    def go_on(self) -> None:
        """Do one slice of the sweep that is on its way."""
        if self._work is None:
            return
        until_s = time.perf_counter() + SLICE_S
        for _ in self._work:
            if time.perf_counter() >= until_s:
                return
        self._work = self._sweep() if self._again else None
        self._again = False

    def adopt(self, run: TrackedRun, pid: int, stat: ProcStat | None = None) -> Member | None:
        """Hold a descendant and watch for its death."""
        if len(run.members) >= MEMBERS_MAX:
            return None
        held = self._core.ports.processes.hold(pid)
        if held is None:
            return None
        member = Member(
            token=self._core.token(),
            run_id=run.run_id,
            held=held,
            start_ticks=stat.start_ticks if stat is not None else 0,
            comm=printable(stat.comm, 32) if stat is not None else "",
        )
        self.watch(run, member)
        return member

    def watch(self, run: TrackedRun, member: Member) -> None:
        """Take a held process into the run's tree."""
        run.members[member.held.pid] = member
        run.founders.add(member.held.pid)
        self._core.members[member.token] = member
        self._core.ports.deaths.watch(member.token, member.held.pidfd)

    def _sweep(self) -> Iterator[None]:
        core = self._core
        self._sweeps += 1
        for member in list(core.members.values()):
            self._read(member)
            yield
        for _ in self._discover():
            yield
        now_s = core.monotonic_s()
        counts: dict[str | None, int | None] = {}
        for run in list(core.living()):
            if run.oom_place not in counts:
                counts[run.oom_place] = self._deaths.read_oom(run)
            self._deaths.note_oom(run, counts[run.oom_place], now_s)
            self._add_up(run)
            yield
        core.sampled(SAMPLER)

    def _read(self, member: Member) -> None:
        if member.token not in self._core.members:
            return
        member.reading = member.held.read() or member.reading
        member.io = member.held.read_io() or member.io

    def _discover(self) -> Iterator[None]:
        core = self._core
        if not any(core.living()):
            self._strangers.clear()
            return
        listed = core.ports.processes.pids()
        known = {m.held.pid for m in core.members.values()}
        fresh = listed - known - {self._own_pid}
        if self._sweeps % FULL_EVERY:
            fresh -= self._strangers.keys()
        seen = {}
        for pid in fresh:
            stat = core.ports.processes.inspect(pid)
            if stat is not None:
                seen[pid] = stat
            yield
        kept = {p: s for p, s in self._strangers.items() if p in listed and p not in known}
        self._strangers = {**kept, **seen}
        if not seen:
            return
        roots = {r.run.identity.pid: r.run_id for r in core.living()}
        for run in list(core.living()):
            self._join(run, roots)
            yield

    def _join(self, run: TrackedRun, roots: dict[int, RunId]) -> None:
        others = {pid for pid, run_id in roots.items() if run_id != run.run_id}
        launchers = {r.launcher_pid for r in self._core.living() if r.launcher_pid is not None}
        tree = Tree(
            root_pid=run.run.identity.pid,
            root_start_ticks=run.run.identity.start_ticks,
            living={pid: m.start_ticks for pid, m in run.members.items()},
            founders=frozenset(run.founders),
            launcher_pid=run.launcher_pid,
        )
        taken = others | launchers | self._children_of_ours()
        for stat in newcomers(tree, self._strangers.values(), taken=taken):
            if self.adopt(run, stat.pid, stat) is not None:
                self._strangers.pop(stat.pid, None)
                run.changed()

    def _children_of_ours(self) -> set[int]:
        return {s.pid for s in self._strangers.values() if s.parent_pid == self._own_pid}

    def _add_up(self, run: TrackedRun) -> None:
        root = run.root
        if root is None or root.reading is None or run.end is not None:
            return
        stopped = root.reading.state == STOPPED
        if stopped is not run.suspended:
            run.suspended = stopped
            self._judging.poke(run, ("run",))
            self._core.touch(run)
        run.view = None
        self._core.snapshot_stale = True
