"""The engine's own table of architectures: which class of which module serves each."""

from dataclasses import dataclass, field
from typing import Final

from pfid.formats.engine_source.frames import TooLargeError
from pfid.formats.engine_source.running import Running
from pfid.formats.engine_source.values import Known, Row, Table, Values, one
from pfid.formats.python_source.lookup import Lineages
from pfid.formats.python_source.names import (
    NO_SUCH,
    ClassRef,
    FunctionRef,
    Names,
    Target,
    Unresolved,
    ValueRef,
)

MODULE: Final = "model_executor.models.registry"
TABLE: Final = "_VLLM_MODELS"
BACKEND: Final = "_TRANSFORMERS_BACKEND_MODELS"
FORMER: Final = "_PREVIOUSLY_SUPPORTED_MODELS"
NAME_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """Architectures that an engine knows.

    Attributes:
        classes: module and class of each architecture.
        backend: architectures of the fallback that runs another library's modelling code.
        former: architectures that were dropped, with the last version that had them.
        problem: why the table cannot be read, "" where it can.
    """

    classes: dict[str, tuple[str, str]] = field(default_factory=dict)
    backend: tuple[str, ...] = ()
    former: dict[str, str] = field(default_factory=dict)
    problem: str = ""


def read_registry(names: Names) -> Registry:
    """Read it out of the engine's source."""
    module = f"{names.root}.{MODULE}"
    table = _table(names, module, TABLE)
    if isinstance(table, str):
        return Registry(problem=table)
    classes: dict[str, tuple[str, str]] = {}
    for name, value in table:
        pair = _pair(value)
        if name is None or pair is None:
            return Registry(problem=f"{module}: {TABLE} has entries that are computed")
        classes[str(name)] = (_absolute(names.root, pair[0]), pair[1])
    if not classes:
        return Registry(problem=f"{module}: {TABLE} is empty")
    backend, former = _table(names, module, BACKEND), _table(names, module, FORMER)
    return Registry(
        classes=classes,
        backend=() if isinstance(backend, str) else tuple(str(key) for key, _ in backend),
        former={} if isinstance(former, str) else {str(k): _text(v) for k, v in former},
    )


def class_of(names: Names, registry: Registry, architecture: str) -> Target:
    """The class that the registry names for an architecture."""
    module, name = registry.classes[architecture]
    found = names.find(module, name)
    made_up = isinstance(found, Unresolved) and found.module == module
    return _made_up(names, module, name, found) if made_up else found


def _made_up(names: Names, module: str, name: str, otherwise: Target) -> Target:
    """What a module's ``__getattr__`` gives for a name."""
    maker = names.find(module, "__getattr__")
    if not isinstance(maker, FunctionRef):
        return otherwise
    running = Running(Lineages(names), {}, lambda _: None)
    try:
        came = running.given(maker, one(Known(name)))
    except (TooLargeError, RecursionError):
        return otherwise
    classes = [value for value in came if isinstance(value, ClassRef)]
    if not came:
        return Unresolved(f"{module} makes {name} up{NO_SUCH}", module)
    if len(classes) < len(came):
        return otherwise
    several = Unresolved(f"{module} makes {name} up on conditions, in {len(came)} ways", module)
    return classes[0] if len(classes) == 1 else several


def finder(names: Names, registry: Registry) -> "Finder":
    """What looks a class up by its architecture."""
    return Finder(names, registry)


@dataclass(frozen=True, slots=True)
class Finder:
    """Looks classes up by architecture."""

    names: Names
    registry: Registry

    def __call__(self, architecture: str) -> ClassRef | None:
        """The class; None if the registry has none, or its source does not tell."""
        if architecture not in self.registry.classes:
            return None
        found = class_of(self.names, self.registry, architecture)
        return found if isinstance(found, ClassRef) else None


def _table(names: Names, module: str, name: str) -> list[tuple[object, Values]] | str:
    found = names.find(module, name)
    if isinstance(found, Unresolved):
        return found.why
    if not isinstance(found, ValueRef):
        return f"{module}: {name} is no table"
    running = Running(Lineages(names), {}, lambda _: None)
    tables = [v for v in running.module_value(found) if isinstance(v, Table)]
    if len(tables) != 1:
        return f"{module}: {name} is computed"
    return list(tables[0].entries)


def _pair(value: Values) -> tuple[str, str] | None:
    rows = [v for v in value if isinstance(v, Row)]
    if len(rows) != 1 or len(rows[0].items) != 2:
        return None
    module, name = (_text(inner) for inner in rows[0].items)
    return (module, name) if module and name else None


def _text(value: Values) -> str:
    known = [v.value for v in value if isinstance(v, Known) and isinstance(v.value, str)]
    return known[0][:NAME_MAX] if len(known) == 1 == len(value) else ""


def _absolute(root: str, module: str) -> str:
    inside = module.startswith(f"{root}.")
    return module if inside else f"{root}.model_executor.models.{module}"
