"""The GPUs of the box, and those the subject is about: samples, who is on them, what is missing."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from pfid.domain.gpu import GpuFacts, GpuSample, XidEvent
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.names import RunId

KEPT_S = 300.0
"""Seconds of samples that are kept of each GPU."""


class SamplerProblem(Enum):
    """Why there are no fresh figures."""

    NONE = ""
    DISABLED = "disabled"
    """Switched off by configuration."""
    NO_LIBRARY = "no_library"
    """No GPU library on this box; with no GPU on the bus either, this is how it should be."""
    NO_DRIVER = "no_driver"
    """The library is there, the driver is not loaded."""
    DRIVER_MISMATCH = "driver_mismatch"
    """Library and driver differ, as after an upgrade under a running job: the job is fine."""
    NO_PERMISSION = "no_permission"
    STARTING = "starting"
    """No batch yet, and not long enough to call it late."""
    HUNG = "hung"
    """A call into the driver did not come back in time."""
    CRASHED = "crashed"
    """The helper ended by itself, or said what cannot be read."""
    FATAL_XID = "fatal_xid"
    """A GPU reported a fatal error: no more driver calls until the driver was loaded again."""
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerFacts:
    """How the sampler itself does.

    Attributes:
        problem: what is wrong, NONE while batches come.
        since_success_s: monotonic seconds since the last good batch; None if there never was one.
        running_s: monotonic seconds since sampling was first asked for.
        interval_s: seconds between two samples, as configured.
        driver: driver version, "" if not known.
    """

    problem: SamplerProblem = SamplerProblem.NONE
    since_success_s: float | None = 0.0
    running_s: float = 600.0
    interval_s: float = 1.0
    driver: str = ""


class Withheld(Enum):
    """Why a card that the bus shows and that never answered need not be ours to see."""

    NONE = ""
    """Nothing says so."""
    CONTAINER = "container"
    ALLOCATION = "allocation"
    """A scheduler, or the environment, gave this process a part of the box."""
    NO_PERMISSION = "no_permission"
    """The kernel would not let this process open its device node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuCount:
    """Which GPUs there should be, by PCI bus id.

    Attributes:
        visible: those the driver answers for now.
        remembered: those it ever answered for on this box, this boot or an earlier one.
        on_bus: those the kernel sees on the PCI bus; None if that cannot be read.
        configured: how many the configuration says there are, None if it does not say.
        withheld: why those that never answered may be somebody else's.
    """

    visible: frozenset[str]
    remembered: frozenset[str] = frozenset()
    on_bus: frozenset[str] | None = None
    configured: int | None = None
    withheld: Withheld = Withheld.NONE

    @property
    def missing(self) -> frozenset[str]:
        """Bus ids that were seen or are on the bus, and that the driver does not answer for."""
        return (self.remembered | (self.on_bus or frozenset())) - self.visible

    @property
    def expected(self) -> int:
        """How many there should be, were all those on the bus ours to see."""
        if self.configured is not None:
            return self.configured
        return len(self.visible | self.missing)

    @property
    def known(self) -> int | None:
        """How many there should be; None where nobody knows which of those on the bus are ours."""
        if self.configured is not None or self.withheld is Withheld.NONE:
            return self.expected
        lost = self.remembered - self.visible
        return len(self.visible | self.remembered) if lost else None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuHolder:
    """A process on a GPU and what the box knows of it.

    Attributes:
        pid: as the driver gives it.
        memory_bytes: GPU memory it holds; None where the driver does not say.
        graphics: whether it only draws.
        visible: whether this box has such a process; None where that cannot be told (a container
            sees other numbers than the driver, procfs may hide processes of others).
        uid: of the process, None if it is not visible.
        username: of the uid, "" if not known.
        comm: its short name, untrusted and public.
        run_id: the run whose tree it belongs or belonged to, None if to none.
        run_ended: whether that run has ended.
        zombie: whether it, or the process of a run it belongs to, is defunct.
    """

    pid: int
    memory_bytes: int | None = None
    graphics: bool = False
    visible: bool | None = True
    uid: int | None = None
    username: str = ""
    comm: str = ""
    run_id: RunId | None = None
    run_ended: bool = False
    zombie: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuXid:
    """An error event, and the run it is known to belong to (None for a bystander or nobody)."""

    event: XidEvent
    run_id: RunId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unheard:
    """A time in which nobody listened for errors of a GPU and which nothing tells of.

    Attributes:
        until_s: wall time of its end.
        for_s: how long it was.
    """

    until_s: float
    for_s: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GpuState:
    """One GPU now. The same object serves every evaluation between two samples: equal by identity.

    Attributes:
        facts: what it is.
        samples: the last KEPT_S seconds, oldest first; () while nothing could be read.
        present: whether the driver answered for it in the newest batch.
        holders: who is on it; None if that could not be read.
        reference: its own dense GEMM, None if this box never measured it under this driver.
        xids: error events as far as pfid saw them, oldest first; a fatal one until the driver
            was loaded again.
        unheld_bytes: memory in use that no listed process accounts for, beyond what the driver
            itself reserves; None if that cannot be told.
        lost_at_s: wall time since when it is gone, None while it is present.
        foreign_pids: whether its driver numbers processes as another namespace does: pfid runs in
            a container, and who is on it cannot be told there.
        unheard: times in which nobody listened for its errors, oldest first.
        listened_s: wall time since when its errors are listened for, but for those; None if they
            never were.
    """

    facts: GpuFacts
    samples: tuple[GpuSample, ...] = ()
    present: bool = True
    holders: tuple[GpuHolder, ...] | None = ()
    reference: GpuReference | None = None
    xids: tuple[GpuXid, ...] = ()
    unheld_bytes: int | None = None
    lost_at_s: float | None = None
    foreign_pids: bool = False
    unheard: tuple[Unheard, ...] = ()
    listened_s: float | None = None

    @property
    def holder_runs(self) -> frozenset[RunId]:
        """Living runs that are on it."""
        found = self.holders or ()
        return frozenset(h.run_id for h in found if h.run_id is not None and not h.run_ended)


@dataclass(frozen=True, slots=True, kw_only=True)
class AchievedFlops:
    """What a run reports it gets out of its GPUs.

    Attributes:
        flops_per_s: of one GPU, mean over the window.
        window_s: seconds it was taken over.
    """

    flops_per_s: float
    window_s: float


class GpusPort(Protocol):
    """The GPUs. Nothing here blocks or calls a driver."""

    def sampler(self) -> SamplerFacts:
        """How the sampler does."""
        ...

    def count(self) -> GpuCount | None:
        """Which GPUs there should be; None if nothing was ever seen and the bus is unreadable."""
        ...

    def all(self) -> tuple[GpuState, ...]:
        """Every GPU of the box that was ever seen, by index; () where there are none."""
        ...

    def mine(self) -> tuple[GpuState, ...] | None:
        """Those the subject is about: the GPU itself, or those the run's tree is on.

        () for a run that is on none; None if who is on which GPU cannot be told.
        """
        ...

    def achieved(self) -> AchievedFlops | None:
        """What the subject's run reports; None if it reports nothing."""
        ...
