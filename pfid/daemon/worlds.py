"""From a run's state to the ports a check reads: frozen facts, nothing that blocks."""

from dataclasses import dataclass, field, replace

from pfid.daemon.core import Core
from pfid.daemon.gpu_worlds import LiveGpus
from pfid.daemon.tracked import TrackedRun
from pfid.domain.errors import PortError
from pfid.domain.inside import Achieved
from pfid.domain.step import StepEvent
from pfid.domain.step_summary import Baseline, StepSummary
from pfid.domain.verdict import BOX, Entity, EntityKind
from pfid.policy import progress
from pfid.policy.baseline import choose_baseline, of_fit
from pfid.spec.fakes import FixedClock, FixedGates, FixedLog, FixedRun, FixedSteps
from pfid.spec.ports.log import LogFacts
from pfid.spec.ports.run import RunFacts
from pfid.spec.ports.steps import Progress
from pfid.spec.world import World


@dataclass(frozen=True, slots=True)
class LiveRun:
    """The run's facts, made when asked for."""

    run: TrackedRun
    monotonic_s: float

    def facts(self) -> RunFacts:
        """What is known now."""
        return run_facts(self.run, self.monotonic_s)


@dataclass(slots=True)
class Asked:
    """Whether a check has asked for anything that changes by time alone."""

    time: bool = False

    def note(self) -> None:
        """It has."""
        self.time = True


@dataclass(frozen=True, slots=True)
class LiveClock:
    """The time, noting that somebody asked."""

    wall_s: float
    mono_s: float
    asked: Asked

    def now_s(self) -> float:
        """Wall time."""
        self.asked.time = True
        return self.wall_s

    def monotonic_s(self) -> float:
        """Monotonic time."""
        self.asked.time = True
        return self.mono_s


@dataclass(frozen=True, slots=True)
class LiveSteps:
    """The run's steps. Valid for one evaluation, in the main thread."""

    run: TrackedRun
    monotonic_s: float
    asked: Asked
    unpacked: list[tuple[StepEvent, ...]] = field(default_factory=list)

    def recent(self, n: int) -> tuple[StepEvent, ...]:
        """The last ``n`` events of the leading writer.

        Raises:
            PortError: if more are asked for than are kept.
        """
        kept = self.run.recent
        if n > kept.maxlen:
            raise PortError(f"{n} recent steps asked for; {kept.maxlen} are kept")
        if not self.unpacked:  # several checks of one run ask for the same
            self.unpacked.append(kept.last(kept.maxlen))
        events = self.unpacked[0]
        return events[max(0, len(events) - n) :] if n > 0 else ()

    def summary(self) -> StepSummary | None:
        """Statistics over the whole run."""
        return self.run.statistics.summary()

    def baseline(self) -> Baseline | None:
        """What the steps are held against."""
        return baseline_of(self.run)

    def progress(self) -> Progress | None:
        """How the run moves; None when nothing can be read."""
        self.asked.time = True
        if not self.run.readable:
            return None
        return progress.view(self.run.progress, self.monotonic_s)


@dataclass(slots=True)
class LiveLog:
    """What the run's logs say; looked up once for all checks that run together."""

    run: TrackedRun
    known: LogFacts | None = None

    def facts(self) -> LogFacts | None:
        """None if there is no log or none can be read."""
        if not self.run.readable:
            return None
        if self.known is None:
            facts = self.run.facts
            unread = facts is not None and self.run.log_unread
            self.known = replace(facts, unread=True) if facts is not None and unread else facts
        return self.known


def run_facts(run: TrackedRun, monotonic_s: float) -> RunFacts:
    """The facts about a run at ``monotonic_s``."""
    return RunFacts(
        run=run.run,
        state=run.state,
        end=run.end,
        stop=run.stop,
        alive=run.died_at_s is None and run.end is None,
        defunct=run.defunct,
        launcher_restarts=run.restarts_left > 0,
        suspended_s=monotonic_s - run.suspended_since_s if run.suspended else None,
    )


def baseline_of(run: TrackedRun) -> Baseline | None:
    """What the run's steps are held against."""
    newest = run.recent.last(1)
    fitted = of_fit(run.run.fit, sized=bool(newest) and newest[0].width is not None)
    return choose_baseline(run.run.expect_step_s, run.earlier, run.early.baseline, fitted)


def achieved_of(run: TrackedRun, monotonic_s: float) -> Achieved | None:
    """What the run's ranks get done in a second; of the whole run once it has ended."""
    inside = None if run.facts is None else run.facts.inside
    if run.end is not None:
        return run.rates.whole(inside)
    return run.rates.now(monotonic_s, inside)


def run_world(core: Core, run: TrackedRun, asked: Asked) -> World:
    """The world of one run, for a check that runs at once in the main thread."""
    monotonic_s = core.monotonic_s()
    subject = Entity(EntityKind.RUN, run.run_id)
    return World(
        subject=subject,
        clock=LiveClock(core.now_s(), monotonic_s, asked),
        run=LiveRun(run, monotonic_s),
        steps=LiveSteps(run, monotonic_s, asked),
        log=LiveLog(run),
        gates=FixedGates(standing=core.checks.facts),
        gpus=_gpus_of(core, run, monotonic_s, asked),
    )


def box_world(core: Core) -> World:
    """The world of the box."""
    return _wide_world(core, BOX)


def gpu_world(core: Core, uuid: str) -> World:
    """The world of one GPU."""
    return _wide_world(core, Entity(EntityKind.GPU, uuid))


def _wide_world(core: Core, subject: Entity) -> World:
    monotonic_s = core.monotonic_s()
    return World(
        subject=subject,
        clock=FixedClock(wall_s=core.now_s(), mono_s=monotonic_s),
        gates=FixedGates(standing=core.checks.facts),
        gpus=LiveGpus(core.gpus, subject, monotonic_s),
    )


def frozen_world(core: Core, run: TrackedRun) -> World:
    """The world of one run as data, for a check that runs in the plugin worker."""
    live = run_world(core, run, Asked())
    return World(
        subject=live.subject,
        clock=FixedClock(wall_s=live.clock.now_s(), mono_s=live.clock.monotonic_s()),
        run=FixedRun(run_facts=live.run.facts()),
        steps=FixedSteps(
            events=tuple(run.recent),
            whole=live.steps.summary(),
            held_against=live.steps.baseline(),
            moves=live.steps.progress(),
        ),
        log=FixedLog(log_facts=live.log.facts()),
        gates=live.gates,
        gpus=_gpus_of(core, run, live.clock.monotonic_s(), Asked()).frozen(),
    )


def flops_by_gpu(core: Core, run: TrackedRun, monotonic_s: float) -> dict[str, float]:
    """What the run reports to get out of each GPU it is on."""
    gpus = _gpus_of(core, run, monotonic_s, Asked())
    done = gpus.achieved()
    return {} if done is None else {s.facts.uuid: done.flops_per_s for s in gpus.mine() or ()}


def _gpus_of(core: Core, run: TrackedRun, monotonic_s: float, asked: Asked) -> LiveGpus:
    return LiveGpus(
        core.gpus,
        Entity(EntityKind.RUN, run.run_id),
        monotonic_s,
        reported=lambda: achieved_of(run, monotonic_s),
        note=asked.note,
    )
