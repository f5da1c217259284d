"""One engine's source asked about one model: the class that serves it, its rules, an adapter."""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pfid.formats.engine_source.adapter_keys import AdapterKeys, judge_keys
from pfid.formats.engine_source.expert_rule import ExpertRule, read_rule
from pfid.formats.engine_source.experts import Experts, judge_experts
from pfid.formats.engine_source.frames import TooLargeError
from pfid.formats.engine_source.module_tree import ModuleTree, root_of
from pfid.formats.engine_source.platforms import deciding
from pfid.formats.engine_source.registry import Finder, Registry, class_of, read_registry
from pfid.formats.engine_source.running import Running
from pfid.formats.python_source.bindings import SourceModule
from pfid.formats.python_source.lookup import Lineage, Lineages
from pfid.formats.python_source.names import ClassRef, Names, Unresolved

SUPPORTS: Final = "supports_lora"
NOMINAL: Final = "SupportsLoRA"


class EngineSourceError(Exception):
    """What an engine's source does not tell.

    Attributes:
        reason: a code.
        absent: whether it has no class where its table names one.
    """

    def __init__(self, reason: str, detail: str, *, absent: bool = False) -> None:
        """Keep the code beside the words."""
        super().__init__(detail)
        self.reason = reason
        self.absent = absent


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """Whether a class supports adapters: None with why if nobody can say."""

    supported: bool | None
    doubt: str = ""


class EngineSource:
    """An engine's source, read as it is needed."""

    def __init__(
        self, package: str, read: Callable[[str], SourceModule | None], platform: str = ""
    ) -> None:
        """Nothing is read yet.

        Args:
            package: the engine's package.
            read: reads one of its modules (see :class:`pfid.formats.python_source.names.Names`).
            platform: under which it is read (see :mod:`pfid.formats.engine_source.platforms`); ""
                leaves open what a platform decides.
        """
        self._names = Names(package, read, deciding(platform))
        self._lineages = Lineages(self._names)
        self._registry: Registry | None = None

    @property
    def registry(self) -> Registry:
        """Architectures that it knows."""
        if self._registry is None:
            self._registry = read_registry(self._names)
        return self._registry

    def rule(self) -> ExpertRule:
        """Its rule of experts."""
        return read_rule(self._names)

    def serving(self, architectures: Sequence[str]) -> ClassRef:
        """The class that serves a model.

        Raises:
            EngineSourceError: if the source does not tell.
        """
        registry = self.registry
        if registry.problem:
            raise EngineSourceError("registry_unknown", registry.problem)
        known = [name for name in architectures if name in registry.classes]
        if not known:
            raise EngineSourceError(*_not_known(registry, architectures))
        module, name = registry.classes[known[0]]
        if name in registry.backend:
            raise EngineSourceError(
                "backend_fallback", f"{known[0]} is run by {name}: another library's modelling code"
            )
        found = class_of(self._names, registry, known[0])
        if not isinstance(found, ClassRef):
            no_class = Unresolved("it is no class")
            told = found if isinstance(found, Unresolved) else no_class
            said = f"{name} of {module}: {told.why}"
            raise EngineSourceError("class_unresolved", said, absent=told.absent)
        return found

    def order(self, served: ClassRef) -> Lineage:
        """The class and its bases."""
        return self._lineages.of(served)

    def lora(self, served: ClassRef) -> Lora:
        """Whether the class supports adapters, of itself or by inheritance."""
        lineage = self._lineages.of(served)
        if lineage.unknown:
            return Lora(supported=None, doubt="; ".join(lineage.unknown[:2]))
        found = self._lineages.attribute(served, SUPPORTS)
        if found.doubt:
            return Lora(supported=None, doubt=found.doubt)
        if found.owner is None:
            return Lora(supported=False)
        if not isinstance(found.node, ast.Constant):
            return Lora(supported=None, doubt=f"{found.owner.name} computes {SUPPORTS}")
        if not found.node.value:
            return Lora(supported=False)
        return self._as_protocol(served, lineage)

    def _as_protocol(self, served: ClassRef, lineage: Lineage) -> Lora:
        """A flag alone is not support: what is looked for beside it must be there too."""
        beside = ("packed_modules_mapping", "embedding_modules")
        missing = [n for n in beside if self._lineages.attribute(served, n).owner is None]
        if NOMINAL in lineage.names or not missing:
            return Lora(supported=True)
        return Lora(supported=False, doubt=f"it sets {SUPPORTS} and has no {missing[0]}")

    def model(self, served: ClassRef, config: Mapping[str, Any]) -> ModuleTree:
        """The modules of a model of this configuration."""
        running = Running(self._lineages, config, Finder(self._names, self.registry))
        return ModuleTree(running, root_of(served))


def experts_of(tree: ModuleTree, rule: ExpertRule) -> Experts:
    """Apply the rule of experts.

    Raises:
        EngineSourceError: if the class is too large to follow.
    """
    try:
        return judge_experts(tree, rule)
    except (TooLargeError, RecursionError) as error:
        raise EngineSourceError("too_large", "the class's constructors go too far") from error


def keys_of(tree: ModuleTree, rule: ExpertRule, keys: Iterable[str]) -> AdapterKeys:
    """Hold an adapter against the model.

    Raises:
        EngineSourceError: if the class is too large to follow.
    """
    try:
        return judge_keys(tree, rule.kinds, keys)
    except (TooLargeError, RecursionError) as error:
        raise EngineSourceError("too_large", "the class's constructors go too far") from error


def _not_known(registry: Registry, architectures: Sequence[str]) -> tuple[str, str]:
    if not architectures:
        return "class_not_told", "the model's configuration names no class"
    first = architectures[0][:100]
    if first in registry.former:
        return "architecture_dropped", f"{first} was served until {registry.former[first][:60]}"
    if registry.backend:
        fallbacks = ", ".join(registry.backend[:3])
        return "backend_fallback", f"{first} is not registered; the engine may try {fallbacks}"
    return "architecture_unknown", f"{first} is not among {len(registry.classes)} architectures"
