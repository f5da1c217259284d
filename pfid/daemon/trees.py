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
from pfid.daemon.ports import MemoryRoom
from pfid.daemon.tracked import Member, TrackedRun
from pfid.domain.names import RunId
from pfid.domain.process_stat import ProcStat
from pfid.formats.untrusted import printable
from pfid.policy.process_tree import Forest, joiners

SAMPLER: Final = "proc"
SLICE_S: Final = 0.001
FULL_EVERY: Final = 12
"""Every so many sweeps strangers are looked at afresh."""
QUIET_EVERY: Final = 3
"""A child that did nothing between two looks is looked at in every so many sweeps."""
EARLY_S: Final = (0.05, 0.2, 0.5, 1.0, 2.0)
"""A young run's tree is looked for at these ages as well: parents of a double fork do not live
long."""
FOUNDER_S: Final = 60.0
"""A dead member's number is remembered so long for children nobody has met yet."""
STOPPED: Final = "T"
MEMBERS_MAX: Final = 4096
"""Processes held for one run; a fork bomb must not take all descriptors."""
COMM_CHARS: Final = 32
ROOM_STEP: Final = 0.01
"""Share of a limit by which the memory that is left must change for readers to be told: on a quiet
box it changes with every look, and runs would be shown anew for it."""


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
        self._sweep_next = False
        self._look_next = False

    def begin(self) -> None:
        """Start a sweep, or have one follow that which is on its way."""
        self._sweep_next = True
        self._start()

    def look(self) -> None:
        """Only look for newcomers."""
        self._look_next = True
        self._start()

    def _start(self) -> None:
        if self._work is not None:
            return
        if self._sweep_next:
            self._sweep_next = self._look_next = False
            self._work = self._sweep()
        elif self._look_next:
            self._look_next = False
            self._work = self._discover()

    @property
    def busy(self) -> bool:
        """Whether a sweep is on its way."""
        return self._work is not None

    def go_on(self) -> None:
        """Do one slice of what is on its way."""
        if self._work is None:
            return
        until_s = time.perf_counter() + SLICE_S
        for _ in self._work:
            if time.perf_counter() >= until_s:
                return
        self._work = None
        self._start()

    def watch(self, run: TrackedRun, member: Member) -> None:
        """Take a held process into the run's tree and watch for its death."""
        pid = member.held.pid
        run.members[pid] = member
        run.founders[pid] = None
        self._core.by_pid[pid] = member
        self._core.members[member.token] = member
        self._core.ports.deaths.watch(member.token, member.held.pidfd)

    def _sweep(self) -> Iterator[None]:
        core = self._core
        self._sweeps += 1
        for member in list(core.members.values()):
            if self._due(member):
                self._read(member)
                yield
        yield from self._discover()
        now_s = core.monotonic_s()
        counts: dict[str | None, int | None] = {}
        rooms: dict[str | None, MemoryRoom | None] = {}
        for run in list(core.living()):
            if run.oom_place not in counts:
                counts[run.oom_place] = self._deaths.read_oom(run)
                rooms[run.oom_place] = core.ports.memory.room(run.oom_place)
            self._deaths.note_oom(run, counts[run.oom_place], now_s)
            _note_room(run, rooms[run.oom_place])
            self._forget_founders(run, now_s)
            self._add_up(run)
            yield
        core.sampled(SAMPLER)

    def _due(self, member: Member) -> bool:
        """A root in every sweep, since its state is the run's; a quiet child now and then."""
        turn = (self._sweeps + member.token) % QUIET_EVERY
        return member.is_root or not member.quiet or turn == 0

    def _read(self, member: Member) -> None:
        if member.token not in self._core.members:
            return
        reading = member.held.read()
        if reading is None:
            return
        member.quiet = reading is member.reading and reading.state != "R"
        if not member.quiet:
            member.io = member.held.read_io() or member.io
            run = self._core.runs.get(member.run_id)
            if run is not None:
                run.view = None
        member.reading = reading

    def _discover(self) -> Iterator[None]:
        core = self._core
        if not any(core.living()):
            self._strangers.clear()
            return
        listed = core.ports.processes.pids()
        fresh = listed - core.by_pid.keys() - {self._own_pid}
        if self._sweeps % FULL_EVERY:
            fresh -= self._strangers.keys()
        seen = {}
        for pid in fresh:
            stat = core.ports.processes.inspect(pid)
            if stat is not None:
                seen[pid] = stat
            yield
        gone = self._strangers.keys() - (listed - core.by_pid.keys())
        for pid in gone:
            del self._strangers[pid]
        self._strangers.update(seen)
        if seen:
            yield from self._adopt_all()

    def _adopt_all(self) -> Iterator[None]:
        forest = self._forest()
        ours = {s.pid for s in self._strangers.values() if s.parent_pid == self._own_pid}
        taken = ours | forest.launchers.keys()
        yield
        for stat, run_id in joiners(forest, self._strangers.values(), taken=taken):
            run = self._core.runs.get(run_id)
            if run is not None and run.end is None and self._adopt(run, stat):
                self._strangers.pop(stat.pid, None)
            yield

    def _forest(self) -> Forest[RunId]:
        living = list(self._core.living())
        return Forest(
            members={pid: m.run_id for pid, m in self._core.by_pid.items()},
            founders={pid: run.run_id for run in living for pid in run.founders},
            launchers={
                run.launcher_pid: run.run_id for run in living if run.launcher_pid is not None
            },
            born={run.run_id: run.run.identity.start_ticks for run in living},
        )

    def _adopt(self, run: TrackedRun, stat: ProcStat) -> bool:
        if len(run.members) >= MEMBERS_MAX:
            return False
        held = self._core.ports.processes.hold(stat.pid)
        if held is None:
            return False
        member = Member(
            token=self._core.token(),
            run_id=run.run_id,
            held=held,
            start_ticks=stat.start_ticks,
            comm=printable(stat.comm, COMM_CHARS),
            groups=frozenset({stat.process_group, stat.session}),
            reading=held.read(),
        )
        self.watch(run, member)
        run.view = None
        return True

    def _forget_founders(self, run: TrackedRun, now_s: float) -> None:
        """Keep the numbers of living members, of their groups, and for a while of the dead."""
        if len(run.founders) == len(run.members):
            return
        groups: set[int] = set()
        for member in run.members.values():
            groups |= member.groups
        for pid, until_s in list(run.founders.items()):
            if pid in run.members or pid in groups:
                run.founders[pid] = None
            elif until_s is None:
                run.founders[pid] = now_s + FOUNDER_S
            elif now_s > until_s:
                del run.founders[pid]

    def _add_up(self, run: TrackedRun) -> None:
        root = run.root
        if root is None or root.reading is None or run.end is not None:
            return
        stopped = root.reading.state == STOPPED
        if stopped is not run.suspended:
            run.suspended, run.suspended_since_s = stopped, self._core.monotonic_s()
            self._judging.poke(run, ("run",))
            self._core.touch(run)
        self._core.snapshot_stale = True


def _note_room(run: TrackedRun, room: MemoryRoom | None) -> None:
    """Take what is left of memory, if that is news."""
    before = run.room
    if before is None or room is None:
        told = before is not room
    else:
        moved = abs(room.available_bytes - before.available_bytes)
        told = before.limit_bytes != room.limit_bytes or moved > ROOM_STEP * room.limit_bytes
    if told:
        run.room, run.view = room, None
