"""Ending a run on purpose: said first, then done, through descriptors that mean no other process.

The captured process is asked first and alone, so that it may save and end its helpers; what it
leaves behind of its tree is asked next, and what does not go is killed when the grace is over.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from pfid.domain.errors import LaunchError, ProcessGoneError
from pfid.launch.guard import is_standing
from pfid.launch.ports import Held, Processes
from pfid.policy.identity import Standing
from pfid.policy.job_control import SIGCONT, SIGTERM
from pfid.wire.record import RecordedProcess

SIGKILL: Final = 9
LEFTOVER_GRACE_MIN_S: Final = 2.0
"""What a run leaves behind gets so long at least, however long the run itself took."""
KILL_WAIT_S: Final = 10.0


class Ending(Protocol):
    """Acting on captured processes."""

    def signal(self, pidfd: int, number: int) -> None:
        """Send a signal; one that has ended is no matter.

        Raises:
            LaunchError: if it is not ours to signal.
        """
        ...

    def wait_ended(self, pidfds: Sequence[int], timeout_s: float) -> bool:
        """Wait until all have ended; False if time ran out."""
        ...

    def has_ended(self, pidfd: int) -> bool:
        """Whether it is over."""
        ...

    def tree(self, root: RecordedProcess) -> list[Held]:
        """Capture everything that descends from it or lives in its group or session."""
        ...

    def close(self, descriptor: int) -> None:
        """Close a descriptor."""
        ...

    def now_s(self) -> float:
        """Monotonic clock."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """What it came to.

    Attributes:
        killed: whether the run itself had to be killed.
        leftovers: processes it left behind and that were ended.
        remaining: processes that are still there, because a device holds them.
    """

    killed: bool
    leftovers: int
    remaining: int


def stop(
    root: RecordedProcess,
    processes: Processes,
    ending: Ending,
    *,
    announce: Callable[[], None],
    grace_s: float,
) -> Stopped:
    """End a run.

    Args:
        root: the captured process.
        processes: of this box.
        ending: acts on them.
        announce: says who stops it and why; called before the first signal.
        grace_s: between asking and killing.

    Raises:
        LaunchError: if it does not run, cannot be told from another, or is not ours.
    """
    held = _hold(root, processes, ending)
    others = ending.tree(root)
    try:
        announce()
        return _end(held, others, root, ending, grace_s)
    finally:
        for each in (held, *others):
            ending.close(each.pidfd)


def _hold(root: RecordedProcess, processes: Processes, ending: Ending) -> Held:
    """Hold first, then judge: what is judged cannot become another process any more."""
    try:
        held = processes.hold(root.pid)
    except ProcessGoneError as error:
        raise LaunchError(f"it has ended already (pid {root.pid})") from error
    found = is_standing(root, processes)
    if found is not Standing.ALIVE:
        ending.close(held.pidfd)
        raise LaunchError(f"it does not run: {found.value} (pid {root.pid})")
    return held


def _end(
    held: Held, others: Sequence[Held], root: RecordedProcess, ending: Ending, grace_s: float
) -> Stopped:
    deadline_s = ending.now_s() + grace_s
    _ask(ending, held)
    ended = ending.wait_ended([held.pidfd], grace_s)
    if not ended:
        ending.signal(held.pidfd, SIGKILL)
        ending.wait_ended([held.pidfd], KILL_WAIT_S)
    late = ending.tree(root)
    try:
        left = [each for each in _once((*others, *late)) if not ending.has_ended(each.pidfd)]
        for each in left:
            _ask(ending, each)
        left_s = max(LEFTOVER_GRACE_MIN_S, deadline_s - ending.now_s())
        if not ending.wait_ended([each.pidfd for each in left], left_s):
            for each in left:
                ending.signal(each.pidfd, SIGKILL)
            ending.wait_ended([each.pidfd for each in left], KILL_WAIT_S)
        remaining = [each for each in (held, *left) if not ending.has_ended(each.pidfd)]
        return Stopped(killed=not ended, leftovers=len(left), remaining=len(remaining))
    finally:
        for each in late:
            ending.close(each.pidfd)


def _once(held: Sequence[Held]) -> list[Held]:
    """Each process once, whoever found it: a second TERM may break off what the first began."""
    return list({(each.identity.pid, each.identity.start_ticks): each for each in held}.values())


def _ask(ending: Ending, held: Held) -> None:
    """TERM, and CONT: a stopped process does not act on what it was told."""
    ending.signal(held.pidfd, SIGTERM)
    ending.signal(held.pidfd, SIGCONT)
