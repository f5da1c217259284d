"""How a run ended, from everything that was seen around its end.

A status that nobody could read is unknown, and unknown is said. A signal alone does not tell who
sent it: an operator's stop that was announced, the scheduler's own words in the log and the
kernel's count of OOM kills do.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pfid.domain.run import EndKind, FirstDeath, OperatorStop, RunEnd
from pfid.spec.ports.log import Marker, MarkerSeen

KILLED_WITHIN_S: Final = 7200.0
"""How long before the end a child killed by a signal may still be the cause: NCCL's own timeouts
are as long as half an hour, and a launcher may wait for several of them."""
FAILED_WITHIN_S: Final = 120.0
"""Likewise for a child that exited with an error, which shells and data loaders do all day."""
SCHEDULER_WITHIN_S: Final = 900.0
"""How long before the end a scheduler may have said so. A line from long before was printed by
somebody who showed an older log, and must not excuse a kill of today."""
SIGNAL_EXIT_BASE: Final = 128
SIGKILL: Final = 9
_POLITE: Final = frozenset({1, 2, 15})
"""SIGHUP, SIGINT and SIGTERM: requests, which people, launchers and schedulers send."""
_SCHEDULER: Final = (
    (Marker.SCHEDULER_TIME_LIMIT, EndKind.SCHEDULER_LIMIT),
    (Marker.SCHEDULER_CANCELLED, EndKind.SCHEDULER_CANCEL),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """One process of the tree that ended. Both statuses None: unknown.

    Attributes:
        pid: in the watcher's namespace.
        comm: the kernel's short name, sanitised.
        exit_code: 0..255.
        signal: its number.
        at_s: wall time it was seen, Unix seconds.
        is_root: whether it was the captured process.
        oom_kills: OOM kills the kernel counted around it (in its cgroup where that can be read,
            else on the box); None if neither could be read.
    """

    pid: int
    comm: str
    exit_code: int | None
    signal: int | None
    at_s: float
    is_root: bool = False
    oom_kills: int | None = None

    @property
    def killed(self) -> bool:
        """Whether a signal ended it that is not a polite request."""
        return self.signal is not None and self.signal not in _POLITE

    @property
    def oom(self) -> bool:
        """Whether the kernel killed it for memory, as far as its count tells."""
        return self.signal == SIGKILL and bool(self.oom_kills)


def classify(
    root: Death,
    *,
    others: Iterable[Death] = (),
    stop: OperatorStop | None = None,
    markers: Collection[Marker] = (),
    unseen: EndKind | None = None,
) -> RunEnd:
    """Say how a run ended.

    Args:
        root: the death of the captured process.
        others: deaths in its tree, in any order.
        stop: an operator's stop that was announced before the end.
        markers: known messages in the run's log.
        unseen: UNOBSERVED or HOST_LOST when nobody watched the end; decides only while the
            status is unknown, and HOST_LOST always.
    """
    first = first_death(root, tuple(others))
    return RunEnd(
        kind=_kind(root, first, stop, markers, unseen),
        exit_code=root.exit_code,
        signal=root.signal,
        at_s=root.at_s,
        first_death=None
        if unseen is not None
        else FirstDeath(
            pid=first.pid,
            comm=first.comm,
            exit_code=first.exit_code,
            signal=first.signal,
            at_s=first.at_s,
            is_root=first.is_root,
        ),
    )


def first_death(root: Death, others: tuple[Death, ...]) -> Death:
    """Name the death that began the end: the earliest one that can have caused it.

    A root that exits with 0 was not brought down by anybody.
    """
    if root.exit_code == 0:
        return root
    causes = [d for d in others if _can_have_caused(d, root)]
    return min((*causes, root), key=lambda d: d.at_s)


def _can_have_caused(death: Death, root: Death) -> bool:
    before_s = root.at_s - death.at_s
    if before_s < 0:
        return False
    if death.killed:
        return before_s <= KILLED_WITHIN_S
    failed = death.exit_code is not None and death.exit_code != 0
    return failed and before_s <= FAILED_WITHIN_S


def telling(seen: Mapping[Marker, MarkerSeen], ended_at_s: float) -> frozenset[Marker]:
    """Return the markers that can have to do with an end at ``ended_at_s``."""
    return frozenset(
        marker
        for marker, one in seen.items()
        if one.count and (one.last_at_s is None or ended_at_s - one.last_at_s <= SCHEDULER_WITHIN_S)
    )


def polite_end(death: Death) -> bool:
    """Whether the status looks like somebody's request, so that the log may name who asked."""
    as_exit = death.exit_code is not None and death.exit_code - SIGNAL_EXIT_BASE in _POLITE
    return as_exit or death.signal in _POLITE


def _kind(
    root: Death,
    first: Death,
    stop: OperatorStop | None,
    markers: Collection[Marker],
    unseen: EndKind | None,
) -> EndKind:
    if unseen is EndKind.HOST_LOST:
        return unseen
    if stop is not None:
        return EndKind.OPERATOR_STOP
    by_scheduler = [kind for marker, kind in _SCHEDULER if marker in markers]
    if by_scheduler and (polite_end(root) or root.signal == SIGKILL):
        return by_scheduler[0]
    if root.exit_code != 0 and (first.oom or root.oom):
        return EndKind.OOM_KILLED
    return _by_status(root, unseen)


def _by_status(root: Death, unseen: EndKind | None) -> EndKind:
    if root.signal is not None:
        return EndKind.SIGNALED
    if root.exit_code is not None:
        return EndKind.EXITED
    return unseen or EndKind.UNKNOWN_STATUS
