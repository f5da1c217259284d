"""One launch of one training job on this box, from start to end."""

from dataclasses import dataclass
from enum import Enum

from pfid.domain.identity import ProcessIdentity
from pfid.domain.names import RunId, RunName
from pfid.domain.step_fit import StepFit


class RunState(Enum):
    """Exactly one holds at any time (METRICS: ``pfid_run_state``)."""

    STARTING = "starting"
    RUNNING = "running"
    STALLED = "stalled"
    SUSPENDED = "suspended"
    EXITED = "exited"
    FAILED = "failed"
    KILLED = "killed"
    LOST = "lost"

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self in _ENDED


_ENDED = frozenset({RunState.EXITED, RunState.FAILED, RunState.KILLED, RunState.LOST})


class RunSource(Enum):
    """How pfid came to know of the run."""

    WRAPPER = "wrapper"
    CAPTURED = "captured"
    DISCOVERED = "discovered"


class EndKind(Enum):
    """How a run ended, as far as anybody can know."""

    EXITED = "exited"
    SIGNALED = "signaled"
    OOM_KILLED = "oom_killed"
    OPERATOR_STOP = "operator_stop"
    SCHEDULER_LIMIT = "scheduler_limit"
    SCHEDULER_CANCEL = "scheduler_cancel"
    UNOBSERVED = "unobserved"
    """Ended while nobody watched and the kernel gave no status."""
    UNKNOWN_STATUS = "unknown_status"
    """Seen to end, but the kernel gives no status for a process that is not our child."""
    HOST_LOST = "host_lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorStop:
    """Somebody said the run should end, before it did.

    Attributes:
        uid: of whoever asked.
        username: of whoever asked.
        why: their words; untrusted text, shown to the run's owner only.
        at_s: wall time, Unix seconds.
    """

    uid: int
    username: str
    why: str
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstDeath:
    """The first process of the run's tree that died, which is often not the root.

    Attributes:
        pid: in the watcher's namespace.
        comm: the kernel's short name, sanitised.
        exit_code: None if unknown.
        signal: None if it was not a signal or not known.
        at_s: wall time, Unix seconds.
        is_root: whether it was the captured process itself.
    """

    pid: int
    comm: str
    exit_code: int | None
    signal: int | None
    at_s: float
    is_root: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """How the captured process ended.

    Attributes:
        kind: the classification.
        exit_code: 0..255, None if it died of a signal or the status is unknown.
        signal: signal number, None likewise.
        at_s: wall time the end was seen, Unix seconds.
        first_death: the first death in the tree, if it was seen.
        memory_held: whether a defunct trainer or its children still hold GPU memory; None unknown.
    """

    kind: EndKind
    exit_code: int | None
    signal: int | None
    at_s: float
    first_death: FirstDeath | None = None
    memory_held: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One launch. A relaunch is a new run of the same name.

    Attributes:
        run_id: slug, unique on this box.
        name: what the owner calls it.
        identity: the captured process.
        uid: of the captured process; decides who may see its private side.
        username: of that uid.
        source: how it came to be known.
        started_at_s: wall time the process started, Unix seconds.
        attempt: 1 for the first launch, counted up by ``--restart``.
        expect_step_s: from ``--expect-step``, None if not said.
        fit: how its step grows with its width, measured before; None if nobody did.
        fingerprint: digest of command and declared inputs; earlier runs with the same one give
            the step-time baseline.
        job_id: from the scheduler's environment at launch, None if there is none.
        rank: likewise.
        world_size: likewise.
    """

    run_id: RunId
    name: RunName
    identity: ProcessIdentity
    uid: int
    username: str
    source: RunSource
    started_at_s: float
    attempt: int = 1
    expect_step_s: float | None = None
    fit: StepFit | None = None
    fingerprint: str = ""
    job_id: str | None = None
    rank: int | None = None
    world_size: int | None = None
