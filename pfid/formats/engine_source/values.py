"""What an expression of an engine's source may come to: classes, modules, settings; else nothing.

A set of values stands for every way the code may go; ``Unseen`` among them says that there may be
more.
"""

from dataclasses import dataclass, field
from typing import Any

from pfid.formats.python_source.names import ClassRef, External, FunctionRef


@dataclass(frozen=True, slots=True)
class Made:
    """An instance of a class of the tree, with what its constructor was given."""

    kind: ClassRef
    given: tuple[tuple[str, "Values"], ...] = ()
    sure: bool = True
    """Whether ``given`` is everything: not if arguments were passed on by ``**``."""


@dataclass(frozen=True, slots=True)
class MadeOutside:
    """An instance of a class outside the tree."""

    name: str


@dataclass(frozen=True, slots=True)
class Many:
    """Elements of a sequence; ``registered`` if it is a container that is a module itself."""

    items: "Values"
    registered: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A tuple with known places."""

    items: tuple["Values", ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A dictionary; a key that is not known is None."""

    entries: tuple[tuple[Any, "Values"], ...]


@dataclass(frozen=True, slots=True)
class Known:
    """A constant."""

    value: Any


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """The engine's own configuration, for the part of the model's that ``path`` leads to."""

    path: tuple[str, ...]
    inner: str = ""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A part of the model's configuration: every key down to it."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that is no module: a number, a text, a tensor."""


@dataclass(frozen=True, slots=True)
class Unseen:
    """Nobody can say, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Method:
    """A function of a class with what it is called on."""

    function: FunctionRef
    owner: ClassRef
    on: "Value"


@dataclass(frozen=True, slots=True)
class Closure:
    """A function inside a function; its frame is compared by identity."""

    node: Any = field(compare=False)
    frame: Any = field(compare=False)
    key: int = 0


@dataclass(frozen=True, slots=True)
class Contents:
    """A method of a container that gives what it holds."""

    of: "Value"


@dataclass(frozen=True, slots=True)
class Super:
    """What ``super()`` is: lookup begins behind ``owner``."""

    owner: ClassRef
    on: Made


Value = (
    Made
    | MadeOutside
    | Many
    | Row
    | Table
    | Known
    | EngineConfig
    | ModelConfig
    | Thing
    | Unseen
    | Method
    | Closure
    | Contents
    | Super
    | ClassRef
    | FunctionRef
    | External
)
Values = frozenset[Value]
THING: Values = frozenset({Thing()})
NOTHING: Values = frozenset()


def one(value: Value) -> Values:
    """A set of one."""
    return frozenset({value})


def elements(values: Values) -> Values:
    """What iterating over any of these may give."""
    found: set[Value] = set()
    for value in values:
        if isinstance(value, Many):
            found |= value.items
        elif isinstance(value, Row):
            found |= frozenset().union(*value.items)
        elif isinstance(value, Table):
            found |= {Known(key) if key is not None else Thing() for key, _ in value.entries}
        elif isinstance(value, Unseen):
            found.add(value)
        else:
            found.add(Thing())
    return frozenset(found)


def texts(values: Values) -> tuple[str, ...]:
    """Every text among values and inside sequences of them."""
    found = [v.value for v in values if isinstance(v, Known) and isinstance(v.value, str)]
    for value in values:
        if isinstance(value, Many | Row):
            found += texts(elements(one(value)))
    return tuple(found)
