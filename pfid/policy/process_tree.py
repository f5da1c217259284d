"""Which processes belong to which run, double forks and reparenting included.

Three ways lead into a tree: a parent in it, a process group or session founded in it (a daemon
keeps its session's number when its parents are gone), and, for a run that a launcher waits for,
being handed to that launcher as an orphan. All runs are looked at together, so that the work grows
with the processes and not with processes times runs.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from pfid.domain.process_stat import ProcStat

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest(Generic[R]):
    """What is remembered of every run's processes.

    Attributes:
        members: run of every living member, by pid.
        founders: run by the pid of whoever was a member and may have left a group or session.
        launchers: run by the pid of the process that waits for its root and adopts orphans.
        born: start ticks of each run's root; nothing older can descend from it. None if unknown.
    """

    members: Mapping[int, R]
    founders: Mapping[int, R] = field(default_factory=dict)
    launchers: Mapping[int, R] = field(default_factory=dict)
    born: Mapping[R, int | None] = field(default_factory=dict)


def joiners(
    forest: Forest[R], strangers: Iterable[ProcStat], *, taken: Collection[int] = ()
) -> list[tuple[ProcStat, R]]:
    """Return the strangers that belong to a run, with that run, parents before children.

    Args:
        forest: what is known.
        strangers: living processes that no run has yet.
        taken: pids that can never belong (ourselves, launchers).
    """
    alive = list(strangers)
    waiting = {
        s.pid: s for s in alive if not s.dead and s.pid not in forest.members and s.pid not in taken
    }
    # A number is not given away while a group or session bears it: a stranger who has it now
    # shows that the founder's groups are over.
    reused = {s.pid for s in alive}
    founders = {pid: run for pid, run in forest.founders.items() if pid not in reused}
    founders.update(forest.members)
    members = dict(forest.members)
    found: list[tuple[ProcStat, R]] = []
    while True:
        wave = [
            (s, run)
            for s in waiting.values()
            if (run := _joins(s, members, founders, forest)) is not None
        ]
        if not wave:
            return found
        for s, run in wave:
            members[s.pid] = founders[s.pid] = run
            del waiting[s.pid]
        found += wave


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """One run's root, for whoever looks once and remembers nothing."""

    root_pid: int
    root_start_ticks: int | None


def newcomers(
    tree: Tree, strangers: Iterable[ProcStat], *, taken: Collection[int] = ()
) -> tuple[ProcStat, ...]:
    """Return the strangers that belong to one tree, parents before children."""
    only = Forest(members={tree.root_pid: 0}, born={0: tree.root_start_ticks})
    return tuple(stat for stat, _ in joiners(only, strangers, taken=taken))


def _joins(
    s: ProcStat, members: Mapping[int, R], founders: Mapping[int, R], forest: Forest[R]
) -> R | None:
    run = members.get(s.parent_pid)
    for leader in (s.process_group, s.session):
        if run is None:
            run = founders.get(leader)
    if run is None:
        run = forest.launchers.get(s.parent_pid)
    if run is None:
        return None
    born = forest.born.get(run)
    return run if born is None or s.start_ticks >= born else None
