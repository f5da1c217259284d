"""The GPUs as everybody may see them: figures, runs and users, never a command line."""

from dataclasses import dataclass
from enum import Enum

from pfid.domain.gpu import GpuFacts, GpuSample
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.names import RunId


class WorkKind(Enum):
    """What a card is busy with, in one word for a table. A verdict is something else."""

    IDLE = "idle"
    MATMUL = "matmul"
    """Busy at the power of matrix multiplication, with the tensor cores active."""
    NOT_MATMUL = "not_matmul"
    """Busy at power, the tensor cores idle."""
    LOW_POWER = "low_power"
    """Busy by utilisation alone: spinning, waiting or starved of launches."""
    THROTTLED = "throttled"
    LIGHT = "light"
    """Neither busy nor idle."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderView:
    """A process on a GPU. ``visible`` None: this box cannot tell whose it is."""

    pid: int
    memory_bytes: int | None
    visible: bool | None
    username: str = ""
    run_id: RunId | None = None
    run_name: str = ""
    zombie: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class XidCount:
    """How often one Xid was seen on one GPU."""

    code: int
    count: int
    last_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuView:
    """One GPU.

    Attributes:
        facts: what it is.
        present: whether the driver answers for it.
        last: the newest sample; None while there is none that is fresh.
        kind: what it is busy with, over the last minute.
        kind_reason: why that is not known, or what it was compared with; a code.
        holders: who is on it; None if that cannot be read.
        xids: error events, by code.
        unheard_s: seconds in which nobody listened for them, and of which nothing tells.
        reference: its own GEMM.
        recent_utilization: of the last minutes, oldest first; None where it was absent.
        recent_power_w: likewise.
    """

    facts: GpuFacts
    present: bool
    last: GpuSample | None
    kind: WorkKind = WorkKind.UNKNOWN
    kind_reason: str = ""
    holders: tuple[HolderView, ...] | None = ()
    xids: tuple[XidCount, ...] = ()
    unheard_s: float = 0.0
    reference: GpuReference | None = None
    recent_utilization: tuple[float | None, ...] = ()
    recent_power_w: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentCount:
    """How often a value was absent, by field and reason; from every GPU."""

    field: str
    reason: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GpusView:
    """All GPUs and the sampler.

    Attributes:
        up: whether the driver answers.
        problem: why not, a code; "" while it does.
        driver: its version, "" if not known.
        library: version of the library, "" if not known.
        expected: how many there should be, None if nobody knows.
        withheld: why cards on the bus that never answered may be somebody else's, a code; "" where
            there are none.
        visible: how many the driver answers for.
        gpus: by index; those that are gone among them.
        absent: counts of absent values since the start.
    """

    up: bool
    problem: str = ""
    driver: str = ""
    library: str = ""
    expected: int | None = None
    withheld: str = ""
    visible: int = 0
    gpus: tuple[GpuView, ...] = ()
    absent: tuple[AbsentCount, ...] = ()
