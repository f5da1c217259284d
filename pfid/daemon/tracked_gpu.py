"""One GPU as the daemon follows it: samples, who is on it, its errors, what was said of it."""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

from pfid.daemon.tracked import Judged
from pfid.domain.gpu import FATAL_XIDS, NVML, XIDS, GpuFacts, GpuProcess, GpuSample
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.gpu_view import WorkKind
from pfid.domain.names import RunId
from pfid.policy.xid_pairs import one_of_both
from pfid.spec.ports.gpus import KEPT_S, GpuHolder, GpuState, GpuXid, Unheard
from pfid.wire.stored import GpuBody

MAX_XIDS: Final = 256
STORED_XIDS: Final = 4
"""Of each code so many of the newest are kept on disk."""
MAX_UNHEARD: Final = 32
POINT_S: Final = 5.0
POINTS: Final = 60


@dataclass(slots=True, eq=False)
class Points:
    """Means of five seconds over the last minutes, for small plots."""

    means: deque[float | None] = field(default_factory=lambda: deque(maxlen=POINTS))
    _sum: float = 0.0
    _n: int = 0

    def add(self, value: float | None) -> None:
        """Take a value into the mean that is being made."""
        if value is not None:
            self._sum += value
            self._n += 1

    def close(self) -> None:
        """The five seconds are over."""
        self.means.append(self._sum / self._n if self._n else None)
        self._sum, self._n = 0.0, 0


@dataclass(slots=True, eq=False, kw_only=True)
class TrackedGpu:
    """One GPU, there or gone.

    Attributes:
        facts: what it is.
        source: the sampler that brings it.
        samples: the newest, oldest first.
        present: whether the driver answered for it last.
        lost_at_s: wall time since when it does not.
        xids: error events that still count, newest last; ``xid_counts`` counts all by code.
        unheard: times in which nobody listened for its errors; ``unheard_s`` is the sum of all.
        listened_s: wall time since when they are listened for in this life of the daemon.
        deaf_s: wall time since when they are not told, None while they are.
        forgotten: whether anything of that time may be missing from the kernel's log.
        holders: who is on it; None if that cannot be read.
        owners: runs by pid, for as long as the driver lists the pid: also after they have ended.
        judged: what checks said about it.
        reference: its own GEMM.
        written: what is in the store.
        pids_are_ours: whether a process that the driver does not list is on no GPU; seen from a
            container it may be in another one, whose processes drivers leave out.
        kind: what it was busy with when that was last looked at, for everybody's eyes.
    """

    facts: GpuFacts
    source: str = NVML
    samples: deque[GpuSample] = field(default_factory=lambda: deque(maxlen=int(KEPT_S)))
    present: bool = True
    lost_at_s: float | None = None
    xids: list[GpuXid] = field(default_factory=list)
    xid_counts: Counter[int] = field(default_factory=Counter)
    xid_last_s: dict[int, float] = field(default_factory=dict)
    unheard: list[Unheard] = field(default_factory=list)
    unheard_s: float = 0.0
    listened_s: float | None = None
    deaf_s: float | None = None
    forgotten: bool = False
    holders: tuple[GpuHolder, ...] | None = None
    listed: tuple[GpuProcess, ...] | None = None
    owners: dict[int, tuple[int, RunId]] = field(default_factory=dict)
    judged: dict[str, Judged] = field(default_factory=dict)
    reference: GpuReference | None = None
    written: GpuBody | None = None
    pids_are_ours: bool = True
    utilization: Points = field(default_factory=Points)
    power_w: Points = field(default_factory=Points)
    kind: WorkKind = WorkKind.UNKNOWN
    kind_reason: str = "no_fresh_sample"
    kind_due_s: float = 0.0
    point_s: float = POINT_S
    point_due_s: float = 0.0
    _state: GpuState | None = None
    _held_of: tuple[GpuHolder, ...] | None = None
    _held_by: frozenset[RunId] = frozenset()

    @property
    def held_by(self) -> frozenset[RunId]:
        """Living runs that are on it; made anew when its list of holders is another."""
        if self._held_of is not self.holders:
            self._held_of = self.holders
            self._held_by = frozenset(
                h.run_id for h in self.holders or () if h.run_id is not None and not h.run_ended
            )
        return self._held_by

    @property
    def state(self) -> GpuState:
        """As a check sees it; the same object until something changes."""
        if self._state is None:
            self._state = GpuState(
                facts=self.facts,
                samples=tuple(self.samples),
                present=self.present,
                holders=self.holders,
                reference=self.reference,
                xids=tuple(self.xids),
                unheld_bytes=self._unheld_bytes(),
                lost_at_s=self.lost_at_s,
                foreign_pids=not self.pids_are_ours,
                unheard=tuple(self.unheard),
                listened_s=self.listened_s,
            )
        return self._state

    def changed(self) -> None:
        """Something a check may see is new."""
        self._state = None

    def take(self, sample: GpuSample) -> None:
        """Add a sample."""
        self.samples.append(sample)
        self.utilization.add(sample.utilization)
        self.power_w.add(sample.power_w)
        if not self.point_due_s - self.point_s <= sample.at_s < self.point_due_s:
            if self.point_due_s:
                self.utilization.close()
                self.power_w.close()
            self.point_due_s = sample.at_s + self.point_s
        self.changed()

    def gone(self, at_s: float) -> None:
        """The driver answers for it no longer."""
        if self.present:
            self.present, self.lost_at_s = False, at_s
            self._deaf(at_s)
            self.holders = self.listed = None
            self.changed()

    def back(self) -> None:
        """The driver answers for it."""
        if not self.present:
            self.present, self.lost_at_s = True, None
            self.changed()

    def hears(self, at_s: float, *, remembered: bool) -> None:
        """Whether its errors are told, as far as its facts say.

        Args:
            at_s: wall time.
            remembered: whether the kernel's log told all of them since the last time.
        """
        if self.deaf_s is not None and self.deaf_s < at_s:
            self.forgotten |= not remembered
        if XIDS in self.facts.absent or not self.present:
            self._deaf(at_s)
        elif self.listened_s is None:
            self.listened_s, self.deaf_s = at_s, None
        elif self.deaf_s is not None:
            since_s, self.deaf_s = self.deaf_s, None
            if self.forgotten:
                self.missed(at_s, at_s - since_s)

    def _deaf(self, at_s: float) -> None:
        if self.deaf_s is None:
            self.deaf_s, self.forgotten = at_s, False

    def missed(self, until_s: float, for_s: float) -> None:
        """Nobody listened for its errors; of many such times the shortest are forgotten."""
        if self.listened_s is None or for_s <= 0:
            return
        self.unheard_s += for_s
        self.unheard.append(Unheard(until_s=until_s, for_s=for_s))
        if len(self.unheard) > MAX_UNHEARD:
            self.unheard.remove(min(self.unheard, key=lambda each: each.for_s))
        self.changed()

    def told_already(self, xid: GpuXid) -> bool:
        """Whether the log has told what the set tells now, or the other way round.

        Then what is known of it is completed by the other's word.
        """
        for at in reversed(range(len(self.xids))):
            before = self.xids[at]
            both = one_of_both(before.event, xid.event)
            if both is not None:
                run_id = before.run_id if xid.run_id is None else xid.run_id
                self.xids[at] = GpuXid(event=both, run_id=run_id)
                self.changed()
                return True
        return False

    def erred(self, xid: GpuXid) -> None:
        """The driver reported an error. A storm of one kind never pushes another kind out."""
        code = xid.event.code
        self.xids.append(xid)
        self.xid_counts[code] += 1
        self.xid_last_s[code] = xid.event.at_s
        if len(self.xids) > MAX_XIDS:
            kept = Counter(x.event.code for x in self.xids)
            most = max(kept, key=lambda each: kept[each])
            del self.xids[next(i for i, x in enumerate(self.xids) if x.event.code == most)]
        self.changed()

    def reloaded(self) -> bool:
        """The driver may be asked again: what was fatal is over. Whether anything was.

        If so, listening begins anew: whatever a dead card told to nobody was part of that.
        """
        left = [x for x in self.xids if x.event.code not in FATAL_XIDS]
        over = len(left) < len(self.xids)
        if over:
            self.unheard.clear()
            self.listened_s = self.deaf_s = None
        self.xids = left
        self.changed()
        return over

    def stored_xids(self) -> tuple[GpuXid, ...]:
        """What of the errors outlives the daemon: the newest few of each code."""
        kept: Counter[int] = Counter()
        newest: list[GpuXid] = []
        for xid in reversed(self.xids):
            kept[xid.event.code] += 1
            if kept[xid.event.code] <= STORED_XIDS:
                newest.append(xid)
        return tuple(reversed(newest))

    def _unheld_bytes(self) -> int | None:
        """Memory that no listed process accounts for."""
        last = self.samples[-1] if self.samples else None
        if last is None or last.memory_used_bytes is None or last.memory_reserved_bytes is None:
            return None
        if self.holders is None or any(h.memory_bytes is None for h in self.holders):
            return None
        if not self.pids_are_ours:
            return None
        held = sum(h.memory_bytes or 0 for h in self.holders)
        return max(last.memory_used_bytes - held, 0)
