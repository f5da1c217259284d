"""Ports with a fixed answer, for controls and tests. Frozen: a control is data."""

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from pfid.domain.identity import ProcessIdentity
from pfid.domain.names import RunId, RunName
from pfid.domain.run import Run, RunSource, RunState
from pfid.domain.step import Phase, StepClock, StepEvent
from pfid.domain.step_summary import Baseline, StepSummary
from pfid.domain.verdict import Entity, EntityKind
from pfid.spec.ports.gates import GateFacts
from pfid.spec.ports.log import LogFacts
from pfid.spec.ports.run import RunFacts
from pfid.spec.ports.steps import Progress
from pfid.spec.world import World

CONTROL_RUN: Final = Run(
    run_id=RunId("control-20260829t120000z-0000"),
    name=RunName("control"),
    identity=ProcessIdentity(machine_id="m", boot_id="b", pid=4242, start_ticks=1000),
    uid=1000,
    username="control",
    source=RunSource.WRAPPER,
    started_at_s=1_788_000_000.0,
)
CONTROL_SUBJECT: Final = Entity(EntityKind.RUN, CONTROL_RUN.run_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedClock:
    """A clock that stands still."""

    wall_s: float = 1_788_000_000.0
    mono_s: float = 1_000.0

    def now_s(self) -> float:
        """Return the fixed wall time."""
        return self.wall_s

    def monotonic_s(self) -> float:
        """Return the fixed monotonic time."""
        return self.mono_s


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedRun:
    """A run with fixed facts."""

    run_facts: RunFacts = field(
        default_factory=lambda: RunFacts(run=CONTROL_RUN, state=RunState.RUNNING)
    )

    def facts(self) -> RunFacts:
        """Return the facts."""
        return self.run_facts


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedSteps:
    """Steps that are already there."""

    events: tuple[StepEvent, ...] = ()
    whole: StepSummary | None = None
    held_against: Baseline | None = None
    moves: Progress | None = None

    def recent(self, n: int) -> tuple[StepEvent, ...]:
        """Return the last ``n`` events."""
        return self.events[-n:] if n > 0 else ()

    def summary(self) -> StepSummary | None:
        """Return the summary given."""
        return self.whole

    def baseline(self) -> Baseline | None:
        """Return the baseline given."""
        return self.held_against

    def progress(self) -> Progress | None:
        """Return the progress given."""
        return self.moves


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedLog:
    """A log with fixed facts; None for a log that cannot be read."""

    log_facts: LogFacts | None = field(default_factory=LogFacts)

    def facts(self) -> LogFacts | None:
        """Return the facts."""
        return self.log_facts


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedGates:
    """Gates with a fixed standing; None for a self-test that has not run."""

    standing: tuple[GateFacts, ...] | None = ()

    def gates(self) -> tuple[GateFacts, ...] | None:
        """Return the standing."""
        return self.standing


def step_series(
    seconds: tuple[float, ...], *, first_index: int = 1, clock: StepClock = StepClock.PRINTED
) -> tuple[StepEvent, ...]:
    """Consecutive single steps with the given durations."""
    return tuple(
        StepEvent(index=first_index + i, seconds=s, clock=clock) for i, s in enumerate(seconds)
    )


def run_world(**facts: Any) -> World:
    """World of one run with the given :class:`RunFacts`, and nothing else set up."""
    state = RunState.LOST if facts.get("end") else RunState.RUNNING
    known = RunFacts(**{"run": CONTROL_RUN, "state": state, **facts})
    return World(subject=CONTROL_SUBJECT, run=FixedRun(run_facts=known))


def moving(
    *, since_progress_s: float = 1.0, phase: Phase = Phase.TRAIN, **kwargs: object
) -> Progress:
    """Progress of a run that steps along, with anything else overridden."""
    base: dict[str, object] = {
        "steps_seen": 100,
        "last_index": 100,
        "since_progress_s": since_progress_s,
        "phase": phase,
        "in_phase_s": 1_000.0,
        "longest_gap_s": MappingProxyType({Phase.TRAIN: 2.0}),
        "log_growing": True,
    }
    return Progress(**{**base, **kwargs})  # type: ignore[arg-type]
