"""The ports a check may read, gathered. A port that was not set up raises when touched."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from pfid.domain.errors import PortNotSetUpError
from pfid.domain.verdict import BOX, Entity
from pfid.spec.ports.clock import ClockPort
from pfid.spec.ports.gates import GatesPort
from pfid.spec.ports.gpus import GpusPort
from pfid.spec.ports.log import LogPort
from pfid.spec.ports.run import RunPort
from pfid.spec.ports.steps import StepsPort

if TYPE_CHECKING:  # a daemon watches runs: what is known of projects and models is not its matter
    from pfid.spec.ports.corpora import CorpusFacts
    from pfid.spec.ports.engine import EngineFacts
    from pfid.spec.ports.facts import FactsPort
    from pfid.spec.ports.git import GitPort
    from pfid.spec.ports.known_answers import KnownAnswersFacts
    from pfid.spec.ports.lineage import ChangedFacts, LineageFacts
    from pfid.spec.ports.masks import MaskFacts
    from pfid.spec.ports.overlap import OverlapFacts
    from pfid.spec.ports.planted import PlantedFacts
    from pfid.spec.ports.preflight import (
        CacheKeyFacts,
        CardsFacts,
        DeclaredFacts,
        FiguresFacts,
        KwargsFacts,
        ManifestFacts,
        MetricsFacts,
        NameFacts,
        RotationFacts,
        ServingFacts,
        SuiteFacts,
        TreeFacts,
        WatchdogFacts,
    )
    from pfid.spec.ports.python import PythonPort
    from pfid.spec.ports.refusals import RefusalFacts
    from pfid.spec.ports.results import ResultFacts
    from pfid.spec.ports.served import ServedFacts
    from pfid.spec.ports.viability import KernelFacts, ModelFacts, Plan, RecipeFacts


class _NotSetUp:
    """Stands where a port would be and refuses every use."""

    __slots__ = ("_port",)

    def __init__(self, port: str) -> None:
        self._port = port

    def __getattr__(self, attribute: str) -> NoReturn:
        raise PortNotSetUpError(
            f"the check reads world.{self._port}.{attribute}, which this world does not have; "
            f"in a control, set up world.{self._port}"
        )


def _not_set_up(port: str) -> Any:
    return cast("Any", _NotSetUp(port))


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Everything a check may know. One world has one subject.

    Attributes:
        subject: what a verdict of this world is about unless it says otherwise.
        clock: the time.
        run: the run under judgement.
        steps: its steps, baseline and progress.
        log: what its log says.
        gates: the standing of pfid's own checks.
        gpus: the GPUs of the box, and those the subject is about.
        git: the repository of the training code.
        python: the training interpreter.
        tree: the working tree of the project that will be launched.
        suite: its tests.
        cache_key: its cache key.
        kwargs: its arguments, held against installed classes.
        declared: its configuration.
        rotation: what a relaunch does to its log.
        watchdog: who will watch it.
        metrics: its metrics, asked what is known.
        figures: superseded figures in its repository.
        launched: whether a run of its name lives.
        cards: the GPUs it will use.
        masks: the attention masks of its model.
        manifest: what a one-step smoke run of it wrote down.
        model: the files of a base model that may be chosen.
        plan: how it would be trained.
        kernels: fused kernels for its class in the training interpreter.
        recipe: a recipe card held beside it.
        engine: the installed engine that would serve it.
        serving: whether what it trains can be served.
        served: proofs that the path to serve a base was tried.
        lineage: the base that was trained, held against the target of a merge.
        changed: what a merge or a save changed.
        results: records of an evaluation, both arms.
        refusals: what tells its refusals from answers.
        planted: faults planted into its answers, and which checks saw them.
        known_answers: its metrics, driven with inputs whose answers are known.
        corpus: that its rates are quoted for.
        overlap: what of its outputs stands in a corpus.
    """

    subject: Entity = BOX
    clock: ClockPort = _not_set_up("clock")  # noqa: RUF009 - frozen
    run: RunPort = _not_set_up("run")  # noqa: RUF009 - frozen
    steps: StepsPort = _not_set_up("steps")  # noqa: RUF009 - frozen
    log: LogPort = _not_set_up("log")  # noqa: RUF009 - frozen
    gates: GatesPort = _not_set_up("gates")  # noqa: RUF009 - frozen
    gpus: GpusPort = _not_set_up("gpus")  # noqa: RUF009 - frozen
    git: "GitPort" = _not_set_up("git")  # noqa: RUF009 - frozen
    python: "PythonPort" = _not_set_up("python")  # noqa: RUF009 - frozen
    tree: "FactsPort[TreeFacts]" = _not_set_up("tree")  # noqa: RUF009 - frozen
    suite: "FactsPort[SuiteFacts | None]" = _not_set_up("suite")  # noqa: RUF009 - frozen
    cache_key: "FactsPort[CacheKeyFacts | None]" = _not_set_up("cache_key")  # noqa: RUF009 - frozen
    kwargs: "FactsPort[KwargsFacts | None]" = _not_set_up("kwargs")  # noqa: RUF009 - frozen
    declared: "FactsPort[DeclaredFacts | None]" = _not_set_up("declared")  # noqa: RUF009 - frozen
    rotation: "FactsPort[RotationFacts | None]" = _not_set_up("rotation")  # noqa: RUF009 - frozen
    watchdog: "FactsPort[WatchdogFacts]" = _not_set_up("watchdog")  # noqa: RUF009 - frozen
    metrics: "FactsPort[MetricsFacts | None]" = _not_set_up("metrics")  # noqa: RUF009 - frozen
    figures: "FactsPort[FiguresFacts | None]" = _not_set_up("figures")  # noqa: RUF009 - frozen
    launched: "FactsPort[NameFacts | None]" = _not_set_up("launched")  # noqa: RUF009 - frozen
    cards: "FactsPort[CardsFacts | None]" = _not_set_up("cards")  # noqa: RUF009 - frozen
    masks: "FactsPort[MaskFacts | None]" = _not_set_up("masks")  # noqa: RUF009 - frozen
    manifest: "FactsPort[ManifestFacts | None]" = _not_set_up("manifest")  # noqa: RUF009 - frozen
    model: "FactsPort[ModelFacts]" = _not_set_up("model")  # noqa: RUF009 - frozen
    plan: "FactsPort[Plan]" = _not_set_up("plan")  # noqa: RUF009 - frozen
    kernels: "FactsPort[KernelFacts]" = _not_set_up("kernels")  # noqa: RUF009 - frozen
    recipe: "FactsPort[RecipeFacts | None]" = _not_set_up("recipe")  # noqa: RUF009 - frozen
    engine: "FactsPort[EngineFacts | None]" = _not_set_up("engine")  # noqa: RUF009 - frozen
    serving: "FactsPort[ServingFacts | None]" = _not_set_up("serving")  # noqa: RUF009 - frozen
    served: "FactsPort[ServedFacts | None]" = _not_set_up("served")  # noqa: RUF009 - frozen
    lineage: "FactsPort[LineageFacts | None]" = _not_set_up("lineage")  # noqa: RUF009 - frozen
    changed: "FactsPort[ChangedFacts | None]" = _not_set_up("changed")  # noqa: RUF009 - frozen
    results: "FactsPort[ResultFacts]" = _not_set_up("results")  # noqa: RUF009 - frozen
    refusals: "FactsPort[RefusalFacts | None]" = _not_set_up("refusals")  # noqa: RUF009 - frozen
    planted: "FactsPort[PlantedFacts | None]" = _not_set_up("planted")  # noqa: RUF009 - frozen
    known_answers: "FactsPort[KnownAnswersFacts]" = _not_set_up("known_answers")  # noqa: RUF009
    corpus: "FactsPort[CorpusFacts | None]" = _not_set_up("corpus")  # noqa: RUF009 - frozen
    overlap: "FactsPort[OverlapFacts | None]" = _not_set_up("overlap")  # noqa: RUF009 - frozen

    if not TYPE_CHECKING:  # the checker reads the fields
        # Only what is given is set: a daemon makes a world for each look at each run, of which it
        # has six ports of three dozen.

        def __init__(self, **given: object) -> None:
            """Set up these ports and no others.

            Raises:
                TypeError: if there is no such port.
            """
            if not given.keys() <= _NOT_GIVEN.keys():
                raise TypeError(f"a world has no {', '.join(given.keys() - _NOT_GIVEN.keys())}")
            for name, port in given.items():
                object.__setattr__(self, name, port)

        def __getattr__(self, name: str) -> object:
            """What stands where nothing was given."""
            if name in _NOT_GIVEN:
                return _NOT_GIVEN[name]
            raise AttributeError(f"a world has no {name}")


_NOT_GIVEN: Final[dict[str, Any]] = {port.name: port.default for port in fields(World)}
