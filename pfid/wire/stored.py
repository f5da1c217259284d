"""What the store keeps, row by row, and how its bodies are written.

The loop says what changed in one turn; the store commits it in one transaction, so that a
transition, the hysteresis state and the log offset that produced it are on disk together or not at
all. Bodies are msgpack: a loss may be NaN, which JSON turns into null.
"""

from typing import Any, Final, TypeVar

import msgspec

from pfid.analysis.early_steps import EarlySteps
from pfid.domain.errors import StateError
from pfid.domain.gpu import GpuFacts
from pfid.domain.gpu_past import GpuPast
from pfid.domain.gpu_reference import GpuReference
from pfid.domain.inside import Achieved
from pfid.domain.outcome import Outcome
from pfid.domain.run import OperatorStop, Run, RunEnd, RunState
from pfid.domain.step import StepClock, StepEvent
from pfid.domain.transition import Transition
from pfid.policy.baseline import EarlierRun
from pfid.policy.ending import Death
from pfid.policy.leading_writer import Leading
from pfid.policy.progress import ProgressState
from pfid.spec.ports.gpus import GpuXid
from pfid.spec.ports.log import LogFacts
from pfid.wire.reader import StreamKind

T = TypeVar("T")


class _Body(msgspec.Struct, frozen=True, kw_only=True):
    pass


class RunBody(_Body, frozen=True, kw_only=True):
    """A run as it is known, without its steps.

    Attributes:
        run: who it is.
        state: its state.
        end: how it ended.
        stop: who announced that it should.
        deaths: of its tree, oldest first.
        synthetic: made by a self-test.
        restarts_left: as its launcher announced.
        launcher_pid: of whoever registered it.
        registered_monotonic_s: when.
        last_progress_at_s: wall time.
        usage: CPU seconds and bytes of members that are gone.
        founders: pids that ever were members of the tree.
        settlings: hysteresis states by check, each packed; together with the run, because one row
            costs one page to write.
        left: what it leaves to the baselines of later runs, once it has ended.
        final: whether its end is settled and nothing is held of it any more.
        handed: what its launcher said of earlier runs.
        regime: what was settled of its step times when it died.
        gpus: what the GPUs it was on did, once that is settled; before, it stands with the steps.
        files_left_out: files that were handed over and not followed.
    """

    run: Run
    state: RunState
    end: RunEnd | None = None
    stop: OperatorStop | None = None
    deaths: tuple[Death, ...] = ()
    synthetic: bool = False
    restarts_left: int = 0
    launcher_pid: int | None = None
    registered_monotonic_s: float = 0.0
    last_progress_at_s: float | None = None
    usage: tuple[float, int, int, bool] = (0.0, 0, 0, False)
    founders: tuple[int, ...] = ()
    settlings: dict[str, bytes] = {}
    left: EarlierRun | None = None
    final: bool = False
    handed: tuple[EarlierRun, ...] = ()
    regime: Outcome | None = None
    gpus: tuple[GpuPast, ...] = ()
    files_left_out: int = 0


class StreamBody(_Body, frozen=True, kw_only=True):
    """Where the reader stands in one handed-over file."""

    kind: StreamKind
    begins_at: int
    size_at_start: int
    offset: int | None = None
    parser_state: Any = None
    facts: LogFacts | None = None
    readable: bool = True
    finished: bool = False
    place: int | None = None


class StepsBody(_Body, frozen=True, kw_only=True):
    """What was made of a run's steps. ``statistics`` is plain data of StepStatistics."""

    statistics: Any
    progress: ProgressState
    recent: tuple[StepEvent, ...] = ()
    leading: Leading = Leading()
    early: EarlySteps = EarlySteps()
    step_clock: StepClock | None = None
    achieved: Achieved | None = None
    optimizers: tuple[str, ...] = ()
    gpus: tuple[GpuPast, ...] = ()


class PutRun(_Body, frozen=True, kw_only=True):
    """Insert or replace a run. ``ended_at_s`` None while it lives."""

    run_id: str
    name: str
    fingerprint: str
    uid: int
    synthetic: bool
    started_at_s: float
    ended_at_s: float | None
    body: bytes


class PutStream(_Body, frozen=True, kw_only=True):
    """Insert or replace one stream of a run; ``ordinal`` counts from 0 in order of arrival."""

    run_id: str
    ordinal: int
    body: bytes


class PutSteps(_Body, frozen=True, kw_only=True):
    """Insert or replace what was made of a run's steps."""

    run_id: str
    body: bytes


class GpuBody(_Body, frozen=True, kw_only=True):
    """A GPU that was seen on this box.

    Attributes:
        facts: what it is.
        source: the sampler that brought it.
        last_seen_s: wall time.
        reference: what it does on its own GEMM, None if that was never measured.
        xids: its error events, oldest first; a few of each code.
    """

    facts: GpuFacts
    source: str
    last_seen_s: float
    reference: GpuReference | None = None
    xids: tuple[GpuXid, ...] = ()


class PutGpu(_Body, frozen=True, kw_only=True):
    """Insert or replace a GPU."""

    uuid: str
    body: bytes


class DropGpu(_Body, frozen=True, kw_only=True):
    """Forget a GPU that was taken out."""

    uuid: str


class PutSettling(_Body, frozen=True, kw_only=True):
    """Insert or replace the hysteresis state of a check about the box, or ``check@uuid`` a GPU."""

    check: str
    body: bytes


class PutEvent(_Body, frozen=True, kw_only=True):
    """A transition, once and for ever. An id that is there already is left alone."""

    event_id: int
    subject: str
    uid: int | None
    synthetic: bool
    at_s: float
    body: bytes


class DropStreams(_Body, frozen=True, kw_only=True):
    """Forget offsets and parser states of a run whose logs are read to the end."""

    run_id: str


class EndRun(_Body, frozen=True, kw_only=True):
    """A run whose row cannot be read is over, nobody knows since when; retention takes it."""

    run_id: str


class Expire(_Body, frozen=True, kw_only=True):
    """Retention: forget what is older, both in wall time."""

    runs_ended_before_s: float
    events_before_s: float


Change = (
    PutRun
    | PutStream
    | PutSteps
    | PutSettling
    | PutEvent
    | PutGpu
    | DropStreams
    | DropGpu
    | EndRun
    | Expire
)


class StoredRun(_Body, frozen=True, kw_only=True):
    """A run with all that belongs to it."""

    body: RunBody
    streams: dict[int, StreamBody]
    steps: StepsBody | None


class UnreadRun(_Body, frozen=True, kw_only=True):
    """A run that lived when it was written and whose row cannot be read.

    Attributes:
        problem: why not.
    """

    run_id: str
    name: str
    fingerprint: str
    uid: int
    synthetic: bool
    started_at_s: float
    streams: dict[int, StreamBody]
    steps: StepsBody | None
    problem: str


class StoredEvent(_Body, frozen=True, kw_only=True):
    """One event as it stands in the store."""

    event_id: int
    uid: int | None
    transition: Transition


_encoder: Final = msgspec.msgpack.Encoder(enc_hook=dict)


def pack(value: Any) -> bytes:
    """Write a body. Mappings of any kind become maps."""
    return _encoder.encode(value)


def unpack(body: bytes, kind: type[T]) -> T:
    """Read a body.

    Raises:
        StateError: if it does not hold what ``kind`` says.
    """
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise StateError(f"stored {kind.__name__} cannot be read: {error}") from error
