"""The modules that a model of an engine is made of, as its constructors make them."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pfid.formats.engine_source.running import Running
from pfid.formats.engine_source.values import (
    EngineConfig,
    Known,
    Made,
    MadeOutside,
    Many,
    Unseen,
    Value,
    Values,
    one,
)
from pfid.formats.python_source.names import ClassRef

MODULES_MAX: Final = 4000
ANY: Final = "*"


@dataclass(frozen=True, slots=True)
class Child:
    """One module below another: its name (``*`` for any) and what it may be."""

    name: str
    value: Value


@dataclass
class ModuleTree:
    """Modules of one model."""

    running: Running
    root: Made

    def children(self, made: Made) -> Iterator[Child]:
        """Modules that an instance holds, and what may be one."""
        lineage = self.running.lineages.of(made.kind)
        unfollowed = (*lineage.unknown, *(f"{base} is not in the tree" for base in lineage.foreign))
        if unfollowed:
            yield Child(ANY, Unseen(unfollowed[0]))
        elif not lineage.module:
            return
        for name, values in self.running.attributes(made).items():
            for value in values:
                if isinstance(value, Made):
                    if self._may_be_module(value.kind):
                        yield Child(name, value)
                elif isinstance(value, MadeOutside | Unseen) or _container(value):
                    yield Child(name, value)

    def _may_be_module(self, kind: ClassRef) -> bool:
        lineage = self.running.lineages.of(kind)
        return lineage.module or bool(lineage.unknown) or bool(lineage.foreign)

    def walk(self) -> Iterator[tuple[str, Value]]:
        """Every module once, with the path at which it was first met, nearest first."""
        seen: set[Value] = set()
        waiting: deque[tuple[str, Value]] = deque([("", self.root)])
        while waiting and len(seen) < MODULES_MAX:
            path, value = waiting.popleft()
            if value in seen:
                continue
            seen.add(value)
            if not _container(value):
                yield path, value
            inside = sorted(self._inside(value), key=_in_order)
            waiting.extend((_below(path, name), inner) for name, inner in inside)

    def _inside(self, value: Value) -> Iterator[tuple[str, Value]]:
        if isinstance(value, Made) and not self._leaf(value.kind):
            for child in self.children(value):
                yield child.name, child.value
        elif isinstance(value, Many):
            for inner in value.items:
                if isinstance(inner, Made | MadeOutside | Unseen) or _container(inner):
                    yield ANY, inner

    def _leaf(self, kind: ClassRef) -> bool:
        """Layers that hold no experts and no modules of a model's own naming."""
        layers = f"{self.running.names.root}.model_executor.layers."
        return kind.module.startswith(layers) and ".fused_moe" not in kind.module


def _in_order(child: tuple[str, Value]) -> tuple[str, str, str]:
    """Sets have no order of their own, and a verdict must not depend on it."""
    name, value = child
    kind = value.kind.name if isinstance(value, Made) else ""
    return name, kind, str(getattr(value, "why", getattr(value, "name", "")))


def _container(value: Value) -> bool:
    return isinstance(value, Many) and value.registered


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def root_of(kind: ClassRef) -> Made:
    """The model itself, as the engine constructs it."""
    given: tuple[tuple[str, Values], ...] = (
        ("prefix", one(Known(""))),
        ("vllm_config", one(EngineConfig(()))),
    )
    return Made(kind, given)
