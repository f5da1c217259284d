"""A world as plain data, for a check that runs in another process.

The ports a check declares in ``reads`` are read here and rebuilt as frozen fakes there. A port that
cannot be read travels as its error, so that the check meets the same PortError.
"""

from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

import msgspec

from pfid.domain.errors import PortError
from pfid.domain.step import StepEvent
from pfid.domain.step_summary import Baseline, StepSummary
from pfid.domain.verdict import Entity
from pfid.spec.fakes import FixedClock, FixedGates, FixedLog, FixedRun, FixedSteps
from pfid.spec.fakes_gpus import FixedGpus
from pfid.spec.fakes_launch import FixedGit
from pfid.spec.ports.gates import GateFacts
from pfid.spec.ports.git import GitFacts
from pfid.spec.ports.gpus import AchievedFlops, GpuCount, GpuState, SamplerFacts
from pfid.spec.ports.log import LogFacts
from pfid.spec.ports.run import RunFacts
from pfid.spec.ports.steps import Progress
from pfid.spec.world import World

RECENT_MAX: Final = 512
"""Steps that travel with a world; a check in the worker sees no more."""
T = TypeVar("T")


class ClockData(msgspec.Struct, frozen=True):
    """Both clocks at the moment of reading."""

    now_s: float
    monotonic_s: float


class StepsData(msgspec.Struct, frozen=True):
    """What the steps port says."""

    recent: tuple[StepEvent, ...]
    summary: StepSummary | None
    baseline: Baseline | None
    progress: Progress | None


class GatesData(msgspec.Struct, frozen=True):
    """What the gates port says."""

    gates: tuple[GateFacts, ...] | None


class GpusData(msgspec.Struct, frozen=True):
    """What the GPU port says."""

    sampler: SamplerFacts
    count: GpuCount | None
    all: tuple[GpuState, ...]
    mine: tuple[GpuState, ...] | None
    achieved: AchievedFlops | None


class LogData(msgspec.Struct, frozen=True):
    """What the log port says."""

    facts: LogFacts | None


class GitData(msgspec.Struct, frozen=True):
    """What the git port says."""

    facts: GitFacts
    tracked: tuple[str, ...] | None


FACT_PORTS: Final = frozenset(
    {
        "tree",
        "suite",
        "cache_key",
        "kwargs",
        "declared",
        "rotation",
        "watchdog",
        "metrics",
        "figures",
        "launched",
        "cards",
        "manifest",
        "serving",
        "masks",
        "model",
        "plan",
        "kernels",
        "recipe",
        "engine",
        "served",
        "lineage",
        "changed",
        "results",
        "refusals",
        "planted",
        "known_answers",
        "corpus",
        "overlap",
    }
)
"""Ports with one question (pfid.spec.ports.facts); what each answers stands in project_facts."""


class WorldData(msgspec.Struct, frozen=True, kw_only=True):
    """A world; a port that is not set up is None, one that cannot be read stands in ``errors``.

    ``facts`` holds what ports with one question say, as plain data.
    """

    subject: Entity
    clock: ClockData | None = None
    run: RunFacts | None = None
    steps: StepsData | None = None
    log: LogData | None = None
    gates: GatesData | None = None
    gpus: GpusData | None = None
    git: GitData | None = None
    facts: dict[str, Any] = {}
    errors: dict[str, str] = {}


def world_data(world: World, reads: tuple[str, ...]) -> WorldData:
    """Read the named ports of a world. Never raises PortError; it travels."""
    ports: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    errors: dict[str, str] = {}
    for name in reads:
        reader = _READERS.get(name)
        if reader is None:
            errors[name] = f"there is no port {name}"
            continue
        try:
            (facts if name in FACT_PORTS else ports)[name] = reader(world)
        except PortError as error:
            errors[name] = str(error)
    return WorldData(subject=world.subject, facts=facts, errors=errors, **ports)


def _facts_of(name: str) -> Callable[[World], Any]:
    return lambda world: msgspec.to_builtins(getattr(world, name).facts())


def _does_not_travel() -> NoReturn:
    raise PortError("the training interpreter answers pfid's own checks only, not a plugin's")


_READERS: Final[dict[str, Callable[[World], Any]]] = {
    "clock": lambda w: ClockData(w.clock.now_s(), w.clock.monotonic_s()),
    "run": lambda w: w.run.facts(),
    "steps": lambda w: StepsData(
        w.steps.recent(RECENT_MAX), w.steps.summary(), w.steps.baseline(), w.steps.progress()
    ),
    "log": lambda w: LogData(w.log.facts()),
    "gates": lambda w: GatesData(w.gates.gates()),
    "gpus": lambda w: GpusData(
        w.gpus.sampler(), w.gpus.count(), w.gpus.all(), w.gpus.mine(), w.gpus.achieved()
    ),
    "git": lambda w: GitData(w.git.facts(), w.git.tracked()),
    "python": lambda _: _does_not_travel(),
    **{name: _facts_of(name) for name in FACT_PORTS},
}
PORTS: Final = frozenset(_READERS)
"""Every port a world has; a test holds it against World."""


class _Unreadable:
    """Stands for a port that could not be read where the world was made."""

    __slots__ = ("_why",)

    def __init__(self, why: str) -> None:
        self._why = why

    def __getattr__(self, attribute: str) -> NoReturn:
        raise PortError(self._why)


def world_from(data: WorldData) -> World:
    """Rebuild a world out of frozen fakes."""
    ports: dict[str, Any] = {name: _Unreadable(why) for name, why in data.errors.items()}
    if data.clock is not None:
        ports["clock"] = FixedClock(wall_s=data.clock.now_s, mono_s=data.clock.monotonic_s)
    if data.run is not None:
        ports["run"] = FixedRun(run_facts=data.run)
    if data.steps is not None:
        ports["steps"] = _steps(data.steps)
    if data.log is not None:
        ports["log"] = FixedLog(log_facts=data.log.facts)
    if data.gates is not None:
        ports["gates"] = FixedGates(standing=data.gates.gates)
    if data.gpus is not None:
        ports["gpus"] = _gpus(data.gpus)
    if data.git is not None:
        ports["git"] = FixedGit(looked=data.git.facts, files=data.git.tracked)
    ports |= _answers({name: said for name, said in data.facts.items() if name in FACT_PORTS})
    return World(subject=data.subject, **{k: v for k, v in ports.items() if k in PORTS})


def _answers(said: dict[str, Any]) -> dict[str, Any]:
    if not said:
        return {}
    # A daemon never judges these: it is spared the types.
    from pfid.spec.fakes_facts import FixedFacts
    from pfid.wire.project_facts import FACTS

    return {name: FixedFacts(msgspec.convert(value, FACTS[name])) for name, value in said.items()}


def _steps(data: StepsData) -> FixedSteps:
    return FixedSteps(
        events=data.recent, whole=data.summary, held_against=data.baseline, moves=data.progress
    )


def _gpus(data: GpusData) -> FixedGpus:
    return FixedGpus(
        how=data.sampler,
        counted=data.count,
        states=data.all,
        held=data.mine,
        reports=data.achieved,
    )
