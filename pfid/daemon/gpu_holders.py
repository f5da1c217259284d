"""Whose processes are on a GPU: by the run's tree, by user, or by nobody anyone can see."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from pfid.daemon.tracked_gpu import TrackedGpu
from pfid.domain.gpu import GpuProcess
from pfid.domain.names import RunId
from pfid.domain.process_stat import ProcStat
from pfid.formats.untrusted import printable
from pfid.spec.ports.gpus import GpuHolder

COMM_CHARS: Final = 32


class StrangerPort(Protocol):
    """What may be asked about any process."""

    def inspect(self, pid: int) -> ProcStat | None:
        """One line; None if there is none."""
        ...

    def owner(self, pid: int) -> int | None:
        """Its user; None if it is gone."""
        ...

    def hidden(self, pid: int) -> bool:
        """Whether there is such a process though procfs shows none (hidepid)."""
        ...

    def username(self, uid: int) -> str:
        """A user's name."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InTree:
    """A living process of a run's tree, as the tree knows it."""

    run_id: RunId
    start_ticks: int
    comm: str
    uid: int
    username: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTree:
    """A run that is or was on a GPU, as far as that matters here."""

    ended: bool
    defunct: bool


class Holders:
    """Finds out who is on a GPU."""

    def __init__(
        self,
        processes: StrangerPort,
        *,
        pids_are_ours: bool,
        own_pid: Callable[[int], int | None] = lambda _: None,
    ) -> None:
        """Ask ``processes``; in a container the driver's numbers mean other processes.

        There ``own_pid`` tells what we call a process of the host, None where nobody can tell.
        """
        self._processes = processes
        self._ours = pids_are_ours
        self._own_pid = own_pid
        self._names: dict[int, str] = {}

    def here(self, listed: Iterable[GpuProcess]) -> Mapping[int, int]:
        """What we call those the driver lists, by its number; whom we do not know is left out."""
        if self._ours:
            return {p.pid: p.pid for p in listed}
        known = ((p.pid, self._own_pid(p.pid)) for p in listed)
        return {pid: own for pid, own in known if own is not None}

    def of(
        self,
        gpu: TrackedGpu,
        listed: tuple[GpuProcess, ...],
        members: Mapping[int, InTree],
        runs: Mapping[RunId, RunTree],
    ) -> tuple[GpuHolder, ...]:
        """Everybody the driver lists.

        Args:
            gpu: remembers which run a pid belonged to for as long as it is listed.
            listed: by the driver.
            members: living processes of runs, by the pid that we know.
            runs: all of them.
        """
        here = self.here(listed)
        for pid in gpu.owners.keys() - set(here.values()):
            del gpu.owners[pid]
        return tuple(
            self._one(gpu, replace(process, pid=here[process.pid]), members, runs)
            if process.pid in here
            else _unknown(process)
            for process in listed
        )

    def _one(
        self,
        gpu: TrackedGpu,
        process: GpuProcess,
        members: Mapping[int, InTree],
        runs: Mapping[RunId, RunTree],
    ) -> GpuHolder:
        pid = process.pid
        member = members.get(pid)
        if member is not None:
            gpu.owners[pid] = (member.start_ticks, member.run_id)
            return GpuHolder(
                pid=pid,
                memory_bytes=process.memory_bytes,
                graphics=process.graphics,
                uid=member.uid,
                username=member.username,
                comm=member.comm,
                run_id=member.run_id,
            )
        stat = self._processes.inspect(pid)
        run_id = None
        if (known := gpu.owners.get(pid)) is not None:
            same = stat is None or stat.start_ticks == known[0]
            run_id = known[1] if same else None
        run = None if run_id is None else runs.get(run_id)
        uid = self._processes.owner(pid)
        return GpuHolder(
            pid=pid,
            memory_bytes=process.memory_bytes,
            graphics=process.graphics,
            visible=True if stat is not None else None if self._processes.hidden(pid) else False,
            uid=uid,
            username="" if uid is None else self._name(uid),
            comm="" if stat is None else printable(stat.comm, COMM_CHARS),
            run_id=run_id,
            run_ended=run.ended if run is not None else run_id is not None,
            zombie=(stat is not None and stat.dead) or (run is not None and run.defunct),
        )

    def _name(self, uid: int) -> str:
        """A user's name, asked for once."""
        if uid not in self._names:
            self._names[uid] = self._processes.username(uid)
        return self._names[uid]


def _unknown(process: GpuProcess) -> GpuHolder:
    return GpuHolder(
        pid=process.pid,
        memory_bytes=process.memory_bytes,
        graphics=process.graphics,
        visible=None,
    )
