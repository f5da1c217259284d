"""What arrives in the loop's one inbox. Whoever sends one only puts it there and goes on."""

from dataclasses import dataclass

from pfid.domain.verdict import Verdict
from pfid.policy.baseline import EarlierRun
from pfid.spec.ports.gpus import SamplerProblem
from pfid.wire.control import Request
from pfid.wire.gpu import Report as GpuReport
from pfid.wire.reader import Report
from pfid.wire.stored import StoredEvent, StoredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Died:
    """The pidfd poller saw a process end; ``token`` is what it was watched as."""

    token: int
    at_s: float
    monotonic_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A client asks something; the descriptors are ours now."""

    conn: int
    uid: int
    pid: int
    request: Request
    fds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLeft:
    """A client hung up; nothing need be answered."""

    conn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderStarted:
    """A fresh log reader runs and knows nothing."""

    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderTold:
    """The log reader reports."""

    generation: int
    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderEnded:
    """The log reader is gone; ``touching`` is the stream it was reading when it hung."""

    generation: int
    cause: str
    touching: int | None = None
    output_tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """Every change set up to this number is on disk."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTrouble:
    """Nothing can be written, and why; "" once it can again."""

    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReset:
    """The state file was corrupt and was started afresh: everything has to be written again."""

    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsFound:
    """Answer of the store to a client's question for events; None if it could not be read."""

    conn: int
    events: tuple[StoredEvent, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OldRunFound:
    """Answer of the store about a run that is no longer in memory."""

    conn: int
    uid: int
    run_id: str
    found: StoredRun | None
    events: tuple[StoredEvent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierFound:
    """What earlier runs of the same name and fingerprint left behind."""

    run_id: str
    earlier: tuple[EarlierRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signalled:
    """A signal came."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadEnded:
    """A thread ended with an error: what it did is done by nobody any more."""

    name: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFired:
    """The scheduler says a periodic job is due."""

    job: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTrouble:
    """The scheduler could not run a job: ``error``, ``missed`` or ``max_instances``."""

    job: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerVerdict:
    """The plugin worker's raw verdict for one check and subject; ``error`` is "" if all is well."""

    check: str
    subject: str
    verdict: Verdict
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuHeard:
    """A GPU sampler reports."""

    report: GpuReport


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSamplerLost:
    """A GPU sampler is gone, or there is nothing to start it for.

    Attributes:
        sampler: label of the process.
        problem: what it looks like.
        index: the device it was about, None if none.
        detail: more of it, "" where there is no more.
    """

    sampler: str
    problem: SamplerProblem
    index: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginFault:
    """A plugin did something wrong in a hook; ``what`` is "" where a verdict says it anyway."""

    plugin: str
    hook: str
    what: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginWorkerEnded:
    """The process that runs plugins' checks ended without being asked to.

    Attributes:
        cause: value of EndCause.
        plugin: whose code it ran, "" for none.
        said: the last it printed; untrusted.
    """

    cause: str
    plugin: str
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuBusSeen:
    """GPUs on the PCI bus; None if that cannot be read."""

    bus_ids: frozenset[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """A proof that was made beside the loop is there to be taken."""


Message = (
    Died
    | Asked
    | ClientLeft
    | ReaderStarted
    | ReaderTold
    | ReaderEnded
    | Committed
    | StoreTrouble
    | StoreReset
    | EventsFound
    | OldRunFound
    | EarlierFound
    | Signalled
    | ThreadEnded
    | JobFired
    | JobTrouble
    | WorkerVerdict
    | GpuHeard
    | GpuSamplerLost
    | GpuBusSeen
    | PluginFault
    | PluginWorkerEnded
    | Proven
)
