"""What calls out of an engine's tree come to: torch's containers, and values passed through."""

from typing import Any, Final

from pfid.formats.engine_source.frames import Call
from pfid.formats.engine_source.values import (
    NOTHING,
    THING,
    Known,
    MadeOutside,
    Many,
    Row,
    Table,
    Unseen,
    Value,
    Values,
    elements,
    one,
)
from pfid.formats.python_source.names import External

CONTAINERS: Final = frozenset({"ModuleDict", "ModuleList", "Sequential"})
_PASSED_ON: Final = {
    "copy.copy": 0,
    "copy.deepcopy": 0,
    "functools.partial": 0,
    "re.compile": 0,
    "typing.cast": -1,
}


def made_outside(name: str, call: Call) -> Values:
    """What calling something outside the tree gives."""
    given, named, _ = call
    found = THING
    if name.startswith("torch.nn."):
        found = _torch(name, given)
    elif name.startswith("transformers"):
        found = one(MadeOutside(name))
    elif name == "dataclasses.field":
        found = _field(named.get("default_factory", NOTHING))
    elif name in _PASSED_ON and given:
        found = given[_PASSED_ON[name]]
    return found


def _torch(name: str, given: list[Values]) -> Values:
    last = name.rpartition(".")[2]
    if last in CONTAINERS:
        held = (_put(value) for argument in given for value in argument)
        return one(Many(frozenset().union(*held), registered=True))
    if name.startswith("torch.nn.Module."):  # a method of every module
        return one(Known(None))
    return one(MadeOutside(name)) if last[:1].isupper() and last != "Parameter" else THING


def _put(value: Value) -> Values:
    """What a container takes of one argument: the elements of a sequence, else the argument."""
    return inner_values(value) if isinstance(value, Many | Row | Table | Unseen) else one(value)


def _field(factory: Values) -> Values:
    if External("builtins.dict") in factory:
        return one(Table(()))
    return one(Row(())) if External("builtins.list") in factory else THING


def inner_values(value: Any) -> Values:
    """What a container holds."""
    if isinstance(value, Table):
        return frozenset().union(*(inner for _, inner in value.entries))
    return elements(one(value))
