"""Everything a reader may see, frozen. The only thing the exporter and the CLI read.

A snapshot is public: names, figures and verdicts of every run, but no log text, argv, path or
environment. What belongs to a run's owner alone travels another way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pfid.domain.gate import Gate
from pfid.domain.gpu_view import GpusView
from pfid.domain.inside import Achieved
from pfid.domain.names import CheckName
from pfid.domain.outcome import Outcome
from pfid.domain.run import EndKind, Run, RunEnd, RunState
from pfid.domain.step import Phase, StepClock
from pfid.domain.step_summary import Baseline, StepSummary
from pfid.domain.transition import Transition
from pfid.domain.verdict import Entity, Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a run's process tree uses. A value that could not be read is None, never 0.

    Attributes:
        memory_limit_bytes: of the box, or of a cgroup above the run, whichever is nearest to
            being full.
        memory_available_bytes: what the kernel could still give of it; file caches count as free.
    """

    processes: int
    cpu_seconds: float | None = None
    resident_bytes: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    memory_limit_bytes: int | None = None
    memory_available_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepHistogram:
    """Counts of steps by duration, buckets of factor two from 10 ms (METRICS).

    Attributes:
        counts: steps per bucket, not cumulative; the last one is the overflow.
        sum_s: seconds of all of them.
    """

    counts: tuple[int, ...]
    sum_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run as everybody may see it.

    Attributes:
        run: who it is.
        state: its state.
        end: how it ended, None while it lives.
        last_progress_at_s: wall time of the last sign of progress, None if none was seen.
        steps_total: optimizer steps seen so far.
        last_index: the program's own counter.
        phase: what it is doing.
        step_clock: clock of its step times, None before the first.
        summary: statistics of its steps.
        baseline: what they are held against.
        slowdown_ratio: median of the recent window over the baseline, None without one.
        histogram: for the exporter.
        resources: of its tree, None when it could not be read.
        achieved: what its ranks get done in a second; None where no step says so.
        optimizers: what steps, where that is reported from inside, the first that stepped first.
        files_left_out: logs and step files that are not followed, because the run has too many.
        recent_step_s: the last step times, oldest first, at most 64, for small plots.
        synthetic: whether a self-test made it; kept out of history and metrics of real runs.
    """

    run: Run
    state: RunState
    end: RunEnd | None = None
    last_progress_at_s: float | None = None
    steps_total: int = 0
    last_index: int | None = None
    phase: Phase = Phase.TRAIN
    step_clock: StepClock | None = None
    summary: StepSummary | None = None
    baseline: Baseline | None = None
    slowdown_ratio: float | None = None
    histogram: StepHistogram | None = None
    resources: Resources | None = None
    recent_step_s: tuple[float, ...] = ()
    achieved: Achieved | None = None
    optimizers: tuple[str, ...] = ()
    files_left_out: int = 0
    synthetic: bool = False

    @property
    def state_in_words(self) -> str:
        """The state, or "stopped" where somebody said that it should end: that is no death."""
        asked = self.end is not None and self.end.kind is EndKind.OPERATOR_STOP
        return "stopped" if asked else self.state.value


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictView:
    """The settled verdict of one check about one entity, without private evidence.

    ``counts`` is false while the check's gate is not proven: such a verdict is never green.
    """

    check: CheckName
    stage: str
    entity: Entity
    outcome: Outcome
    reason: str
    summary: str
    since_s: float
    last_run_s: float
    severity: str = "warning"
    label: str = ""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    counts: bool = True
    synthetic: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerView:
    """Health of one source of facts (proc, steps, disk, later nvml)."""

    name: str
    interval_s: float
    last_success_s: float | None
    errors: int = 0
    timeouts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCost:
    """What running one check has cost and how often it failed to run."""

    check: CheckName
    last_run_s: float | None
    runs: int = 0
    seconds: float = 0.0
    errors: int = 0
    timeouts: int = 0
    firings: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginView:
    """One loaded (or refused) plugin."""

    name: str
    version: str
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonHealth:
    """pfid about itself.

    Attributes:
        started_at_s: wall time.
        version: of the pfid that runs, with its commit where that is known; "" if it does not say.
        ready: whether the self-test of ``watch`` has been passed and sockets are bound.
        last_iteration_s: wall time of the last complete iteration of the loop.
        iterations: how many there were.
        iteration_seconds: time spent in them.
        config_loaded_s: wall time of the last successful load.
        config_ok: whether the last (re)load was accepted.
        store_problem: why state cannot be written, "" while it can.
        state_unread: what of the stored state could not be read at the start; a run among it is
            not watched any more.
        runs_unread: how many living runs are among it.
        selftest_last_success_s: wall time of the last full success, by leg.
        selftest_detection_s: from fault to verdict, event and metric, the slowest check's, by leg.
        dropped_series: series left out to bound cardinality, by family.
        log_messages: own log lines by level.
        plugin_errors: what plugins did wrong, by plugin and hook.
        plugin_worker_ends: ends of the plugins' process that nobody asked for, by cause.
    """

    started_at_s: float
    ready: bool
    last_iteration_s: float
    iterations: int = 0
    iteration_seconds: float = 0.0
    config_loaded_s: float | None = None
    config_ok: bool = True
    store_problem: str = ""
    state_unread: tuple[str, ...] = ()
    runs_unread: int = 0
    selftest_last_success_s: Mapping[str, float] = field(default_factory=dict)
    selftest_detection_s: Mapping[str, float] = field(default_factory=dict)
    dropped_series: Mapping[str, int] = field(default_factory=dict)
    log_messages: Mapping[str, int] = field(default_factory=dict)
    plugin_errors: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    plugin_worker_ends: Mapping[str, int] = field(default_factory=dict)
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One moment, whole. Replaced by reference, never changed."""

    at_s: float
    health: DaemonHealth
    runs: tuple[RunView, ...] = ()
    verdicts: tuple[VerdictView, ...] = ()
    gates: tuple[Gate, ...] = ()
    transitions: tuple[Transition, ...] = ()
    samplers: tuple[SamplerView, ...] = ()
    costs: tuple[CheckCost, ...] = ()
    plugins: tuple[PluginView, ...] = ()
    gpus: GpusView | None = None
