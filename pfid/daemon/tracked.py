"""What the loop remembers of one run. Only the main thread touches it."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from pfid.analysis.achieved import AchievedRates
from pfid.analysis.early_steps import EarlySteps
from pfid.analysis.gpu_past import GpuPastKeeper
from pfid.analysis.launch_windows import LaunchWindows
from pfid.analysis.recent_steps import RecentSteps
from pfid.analysis.step_statistics import StepStatistics
from pfid.daemon.ports import HeldProcess, IoReading, MemoryRoom, ProcessReading
from pfid.domain.names import RunId
from pfid.domain.outcome import Outcome
from pfid.domain.run import OperatorStop, Run, RunEnd, RunState
from pfid.domain.snapshot import RunView, VerdictView
from pfid.domain.step import StepClock
from pfid.policy import log_facts
from pfid.policy.baseline import EarlierRun
from pfid.policy.ending import Death
from pfid.policy.hysteresis import Settling
from pfid.policy.leading_writer import Leading
from pfid.policy.progress import ProgressState
from pfid.spec.ports.log import LogFacts
from pfid.wire.control import HandedLog
from pfid.wire.packed_facts import pack_facts, unpack_facts
from pfid.wire.reader import StreamKind

DEATHS_MAX: Final = 256
FEW_STREAMS: Final = 16
"""Of so many the facts are kept as objects too: they are asked for again and again."""


@dataclass(slots=True, eq=False, kw_only=True)
class Member:
    """One living process of a run's tree.

    Attributes:
        groups: its process group and session.
        quiet: whether it had done nothing between the last two looks.
    """

    token: int
    run_id: RunId
    held: HeldProcess
    start_ticks: int
    comm: str
    is_root: bool = False
    groups: frozenset[int] = frozenset()
    reading: ProcessReading | None = None
    io: IoReading | None = None
    quiet: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class Stream:
    """One handed-over file, and those that take its place one after another.

    Attributes:
        number: what the reader calls it.
        ordinal: its place among the run's streams.
        place: which of the run's logs it is, as its launcher counts them.
        fd: the descriptor, None once it is let go.
        following: whether the reader has it.
        readable: whether the reader could read it so far.
        successors: files that took the place of ``fd``, to be followed once it is read.
        parser_state: what the reader goes on from.
        packed: its facts.
        other_file: what was read so far stood in another file than ``fd``.
        replaced: another stream goes on in its place.
        finished: nothing more will be read.
        read_out: everything that stood there when its run was over has been read.
        dirty: whether its place is not on disk yet.
    """

    number: int
    ordinal: int
    run_id: RunId
    kind: StreamKind
    begins_at: int
    size_at_start: int
    place: int | None = None
    fd: int | None = None
    successors: tuple[tuple[int, HandedLog], ...] = ()
    other_file: bool = False
    offset: int | None = None
    parser_state: object = None
    packed: bytes | None = None
    following: bool = False
    readable: bool = True
    replaced: bool = False
    finished: bool = False
    read_out: bool = False
    dirty: bool = True

    @property
    def facts(self) -> LogFacts | None:
        """What its text has said; None before the reader has told."""
        return None if self.packed is None else unpack_facts(self.packed)


@dataclass(slots=True, eq=False, kw_only=True)
class Judged:
    """What one check has said about the run.

    Attributes:
        settling: its hysteresis state.
        raw: outcome of the last raw verdict.
        due_s: when it is due again, monotonic.
        ran_s: when it ran last, monotonic; None before the first time.
        last_run_s: likewise, wall time.
        seen: version of the run's evidence it has seen.
        view: what everybody may see.
        timed: whether its answer may change by time alone.
        waiting_since_s: since when the plugin worker owes an answer.
    """

    settling: Settling = field(default_factory=Settling)
    raw: Outcome | None = None
    due_s: float = 0.0
    ran_s: float | None = None
    last_run_s: float = 0.0
    seen: int = -1
    view: VerdictView | None = None
    timed: bool = True
    waiting_since_s: float | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class Usage:
    """Totals of the tree: of the members that are gone, and of all as last added up."""

    gone_cpu_s: float = 0.0
    gone_read_bytes: int = 0
    gone_written_bytes: int = 0
    io_known: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class TrackedRun:
    """One run, living or ended a short while ago.

    Attributes:
        registered_s: monotonic time of the registration.
        launcher_pid: of the wrapper that waits for it, None for an attached one.
        root: the captured process while it is held.
        members: every living process of the tree, by pid, the root among them.
        founders: pids that may have left a process group or session, and until when that is
            remembered (monotonic; None for as long as it is in use).
        deaths: of the tree, oldest first.
        died_at_s: wall time the root's death was seen; set before its status is known.
        died_s: likewise, monotonic.
        suspended_since_s: since when ``suspended``, monotonic; void while it is not.
        drained: whether the log was read to its end after the death.
        final: whether the end is settled and all is let go.
        version: counts up with every new piece of evidence.
        oom_place: where its cgroup counts OOM kills.
        oom_seen: (monotonic time, count) of the last look and of an older one.
        room: memory where the run's is scantest, as last shown.
        gpus: what the GPUs it is or was on did meanwhile, by uuid.
        earlier: what is known to have been left by earlier runs of its name and fingerprint.
        handed: what its launcher said of them.
        left: what it leaves itself, as last told.
        files_left_out: that were handed over and are not followed: there are too many.
        spared: whether its files had more to remember than may be kept.
        told: the facts of all its logs, where they are not many; each stream keeps its own, packed.
        regime_while_alive: what was settled of its step times when it died.
    """

    run: Run
    registered_s: float
    synthetic: bool = False
    restarts_left: int = 0
    launcher_pid: int | None = None
    state: RunState = RunState.STARTING
    end: RunEnd | None = None
    stop: OperatorStop | None = None
    root: Member | None = None
    members: dict[int, Member] = field(default_factory=dict)
    founders: dict[int, float | None] = field(default_factory=dict)
    deaths: deque[Death] = field(default_factory=lambda: deque(maxlen=DEATHS_MAX))
    died_at_s: float | None = None
    died_s: float | None = None
    defunct: bool = False
    suspended: bool = False
    suspended_since_s: float = 0.0
    drained: bool = False
    final: bool = False
    streams: list[Stream] = field(default_factory=list)
    files_left_out: int = 0
    spared: bool = False
    told: LogFacts | None = None
    statistics: StepStatistics = field(default_factory=StepStatistics)
    recent: RecentSteps = field(default_factory=RecentSteps)
    launches: LaunchWindows = field(default_factory=LaunchWindows)
    rates: AchievedRates = field(default_factory=AchievedRates)
    leading: Leading = field(default_factory=Leading)
    progress: ProgressState
    last_progress_at_s: float | None = None
    step_clock: StepClock | None = None
    early: EarlySteps = field(default_factory=EarlySteps)
    earlier: tuple[EarlierRun, ...] = ()
    handed: tuple[EarlierRun, ...] = ()
    left: EarlierRun | None = None
    usage: Usage = field(default_factory=Usage)
    judged: dict[str, Judged] = field(default_factory=dict)
    oom_place: str | None = None
    oom_seen: deque[tuple[float, int | None]] = field(default_factory=deque)
    room: MemoryRoom | None = None
    version: int = 0
    regime_while_alive: Outcome | None = None
    gpus: dict[str, GpuPastKeeper] = field(default_factory=dict)
    sweep_at_s: float = 0.0
    dirty: bool = True
    steps_dirty: bool = False
    steps_written_s: float = 0.0
    view: RunView | None = None

    @property
    def run_id(self) -> RunId:
        """Its id."""
        return self.run.run_id

    @property
    def facts(self) -> LogFacts | None:
        """What its logs say together; None if none has said anything."""
        if self.told is not None:
            return self.told
        found = log_facts.together(f for s in self.streams if (f := s.facts) is not None)
        if len(self.streams) <= FEW_STREAMS:
            self.told = found
        return found

    def tell(self, stream: Stream, facts: LogFacts) -> None:
        """Keep what one of its logs has said."""
        stream.packed = pack_facts(facts)
        self.told = facts if len(self.streams) == 1 else None

    @property
    def shows_steps(self) -> bool:
        """Whether there is a log or a step file at all."""
        return bool(self.streams)

    @property
    def readable(self) -> bool:
        """Whether at least one of its files can be read."""
        return any(s.readable and (s.fd is not None or s.finished) for s in self.streams)

    @property
    def log_unread(self) -> bool:
        """Whether a log cannot be read: a step file beside it does not say what stands there."""
        return any(s.kind is StreamKind.LOG and not s.readable for s in self.streams)

    def changed(self) -> None:
        """Note new evidence: checks are to look, readers are to be told."""
        self.version += 1
        self.view = None
