"""Which processes belong to a run, double forks and reparenting included.

Three ways lead into a tree: a parent in it, a process group or session founded in it (a daemon
keeps its session's number when its parents are gone), and, for a run that a launcher waits for,
being handed to that launcher as an orphan.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from pfid.domain.process_stat import ProcStat


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """What is remembered of one run's processes.

    Attributes:
        root_pid: the captured process.
        root_start_ticks: its start; nothing older can descend from it. None if unknown.
        living: pid to start ticks of every living member.
        founders: pids that were members at some time; their groups and sessions are ours.
        launcher_pid: the process that waits for the root and adopts orphans, None if none does.
    """

    root_pid: int
    root_start_ticks: int | None
    living: Mapping[int, int] = field(default_factory=dict)
    founders: frozenset[int] = frozenset()
    launcher_pid: int | None = None


def newcomers(
    tree: Tree, strangers: Iterable[ProcStat], *, taken: Collection[int] = ()
) -> tuple[ProcStat, ...]:
    """Return the strangers that belong to the tree, parents before children.

    Args:
        tree: what is known.
        strangers: living processes that no run has yet.
        taken: pids that can never belong (ourselves, other runs' roots and their launchers).
    """
    living = tuple(strangers)
    open_ones = {s.pid: s for s in living if _eligible(tree, s) and s.pid not in taken}
    members = set(tree.living) | {tree.root_pid}
    # A number is not given away while a group or session bears it: a stranger who has it now
    # shows that the founder's groups are over.
    founders = tree.founders - {s.pid for s in living}
    found: list[ProcStat] = []
    while True:
        wave = [s for s in open_ones.values() if _joins(tree, members | founders, members, s)]
        if not wave:
            return tuple(found)
        for s in wave:
            members.add(s.pid)
            del open_ones[s.pid]
        found += wave


def _eligible(tree: Tree, s: ProcStat) -> bool:
    if s.dead or s.pid in tree.living or s.pid in {tree.root_pid, tree.launcher_pid}:
        return False
    return tree.root_start_ticks is None or s.start_ticks >= tree.root_start_ticks


def _joins(tree: Tree, founders: set[int], members: set[int], s: ProcStat) -> bool:
    if s.parent_pid in members or s.process_group in founders or s.session in founders:
        return True
    return tree.launcher_pid is not None and s.parent_pid == tree.launcher_pid
