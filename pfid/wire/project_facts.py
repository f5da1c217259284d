"""What the ports with one question answer, as types."""

from typing import Any, Final

from pfid.spec.ports.corpora import CorpusFacts
from pfid.spec.ports.engine import EngineFacts
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
from pfid.spec.ports.refusals import RefusalFacts
from pfid.spec.ports.results import ResultFacts
from pfid.spec.ports.served import ServedFacts
from pfid.spec.ports.viability import KernelFacts, ModelFacts, Plan, RecipeFacts

FACTS: Final[dict[str, Any]] = {
    "tree": TreeFacts,
    "suite": SuiteFacts | None,
    "cache_key": CacheKeyFacts | None,
    "kwargs": KwargsFacts | None,
    "declared": DeclaredFacts | None,
    "rotation": RotationFacts | None,
    "watchdog": WatchdogFacts,
    "metrics": MetricsFacts | None,
    "figures": FiguresFacts | None,
    "launched": NameFacts | None,
    "cards": CardsFacts | None,
    "manifest": ManifestFacts | None,
    "serving": ServingFacts | None,
    "masks": MaskFacts | None,
    "model": ModelFacts,
    "plan": Plan,
    "kernels": KernelFacts,
    "recipe": RecipeFacts | None,
    "engine": EngineFacts | None,
    "served": ServedFacts | None,
    "lineage": LineageFacts | None,
    "changed": ChangedFacts | None,
    "results": ResultFacts,
    "refusals": RefusalFacts | None,
    "planted": PlantedFacts | None,
    "known_answers": KnownAnswersFacts,
    "corpus": CorpusFacts | None,
    "overlap": OverlapFacts | None,
}
"""Ports with one question (pfid.spec.ports.facts), and what each answers."""
