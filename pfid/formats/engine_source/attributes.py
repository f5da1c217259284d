"""Names and attributes of an engine's source."""

import ast
import builtins
from collections.abc import Mapping
from typing import Any, Final

from pfid.formats.engine_source.core import ABSENT, Core
from pfid.formats.engine_source.frames import Frame
from pfid.formats.engine_source.values import (
    NOTHING,
    THING,
    Contents,
    EngineConfig,
    Known,
    Made,
    MadeOutside,
    Many,
    Method,
    ModelConfig,
    Row,
    Super,
    Table,
    Unseen,
    Value,
    Values,
    one,
)
from pfid.formats.python_source.bindings import dotted
from pfid.formats.python_source.lookup import defined_in
from pfid.formats.python_source.names import (
    ClassRef,
    External,
    FunctionRef,
    ModuleRef,
    Target,
    Unresolved,
    ValueRef,
)

HARDWARE: Final = ("platforms", "envs")
"""Packages of an engine that know the hardware and the environment: no module comes from them."""
_BUILTINS: Final = frozenset(dir(builtins))


class Attributes(Core):
    """Follows names and attributes."""

    def _name(self, name: str, frame: Frame) -> Values:
        at: Frame | None = frame
        while at is not None:
            if name in at.local:
                return at.local[name]
            at = at.outer
        if name in _BUILTINS:
            return one(External(f"builtins.{name}"))
        return self._target(self.names.find(frame.module, name))

    def module_value(self, found: ValueRef) -> Values:
        """What a module computes for a name."""
        if found not in self._values:
            self._values[found] = NOTHING
            self._values[found] = self.value(found.node, Frame(found.module))
        return self._values[found]

    def _target(self, found: Target) -> Values:
        if isinstance(found, ValueRef):
            return self.module_value(found)
        if isinstance(found, ModuleRef):
            return one(External(found.name))
        if isinstance(found, Unresolved):
            hardware = tuple(f"{self.names.root}.{name}" for name in HARDWARE)
            return THING if found.module.startswith(hardware) else one(Unseen(found.why))
        return one(found)

    def _attribute_of(self, holders: Values, name: str, frame: Frame) -> Values:
        found: set[Value] = set()
        for holder in holders:
            found |= self._one_attribute(holder, name, frame)
        return frozenset(found)

    def _one_attribute(self, holder: Value, name: str, frame: Frame) -> Values:
        found = THING
        if isinstance(holder, Made):
            found = self._instance_attribute(holder, name, frame)
        elif isinstance(holder, EngineConfig):
            found = self._engine_setting(holder, name)
        elif isinstance(holder, ModelConfig):
            found = self._setting(holder, name)
        elif isinstance(holder, ClassRef):
            found = self._class_attribute(holder, holder, name)
        elif isinstance(holder, Super):
            found = self._super_attribute(holder, name)
        elif isinstance(holder, External):
            found = self._outside_attribute(holder, name)
        elif isinstance(holder, Unseen):
            found = one(holder)
        elif isinstance(holder, MadeOutside):
            found = one(MadeOutside(f"{holder.name}.{name}"))
        elif isinstance(holder, Many | Row | Table) and name in ("values", "items", "get"):
            found = one(Contents(holder))
        return found

    def _outside_attribute(self, holder: External, name: str) -> Values:
        if self.names.inside(holder.name):
            return self._target(self.names.find(holder.name, name))
        return one(External(f"{holder.name}.{name}"))

    def _instance_attribute(self, holder: Made, name: str, frame: Frame) -> Values:
        own = frame.store if frame.me == holder and frame.store is not None else None
        store = own if own is not None else self.attributes(holder)
        if name in store:
            return store[name]
        found = self._class_attribute(holder.kind, holder, name)
        return found | store.get("*", NOTHING)

    def _class_attribute(self, kind: ClassRef, on: Value, name: str) -> Values:
        found = self.lineages.attribute(kind, name)
        if found.owner is None or found.node is None:
            return one(Unseen(found.doubt)) if found.doubt else THING
        return self._member(found.owner, found.node, on)

    def _member(self, owner: ClassRef, node: ast.AST, on: Value) -> Values:
        if isinstance(node, ast.FunctionDef):
            function = FunctionRef(owner.module, f"{owner.name}.{node.name}", node)
            kinds = {dotted(d) for d in node.decorator_list}
            method = Method(function, owner, on)
            if kinds & {"property", "cached_property", "functools.cached_property"}:
                return self._run_method(method, ([], {}, False), None)
            return one(method)
        if isinstance(node, ast.ClassDef):
            return one(ClassRef(owner.module, f"{owner.name}.{node.name}", node))
        return self.value(node, Frame(owner.module)) if isinstance(node, ast.expr) else THING

    def _super_attribute(self, holder: Super, name: str) -> Values:
        classes = self.lineages.of(holder.on.kind).classes
        behind = classes[classes.index(holder.owner) + 1 :] if holder.owner in classes else ()
        for owner in behind:
            found = defined_in(owner.node, name)
            if found:
                return self._member(owner, found[-1], holder.on)
        return one(External("torch.nn.Module." + name))

    def _engine_setting(self, holder: EngineConfig, name: str) -> Values:
        """The way from the engine's configuration to the model's; all else is no module."""
        if not holder.inner and name == "model_config":
            return one(EngineConfig(holder.path, "model_config"))
        if holder.inner == "model_config" and name == "hf_config":
            return one(ModelConfig(holder.path))
        if holder.inner == "model_config" and name == "hf_text_config":
            inner = (*holder.path, "text_config")
            found = isinstance(self._json(inner), Mapping)
            return one(ModelConfig(inner if found else holder.path))
        return THING

    def _setting(self, holder: ModelConfig, name: str) -> Values:
        value = self._json((*holder.path, name))
        if value is ABSENT or isinstance(value, list):
            return THING
        if isinstance(value, Mapping):
            return one(ModelConfig((*holder.path, name)))
        return one(Known(value))

    def _json(self, path: tuple[str, ...]) -> Any:
        value: Any = self._config
        for key in path:
            if not isinstance(value, Mapping) or key not in value:
                return ABSENT
            value = value[key]
        return value
