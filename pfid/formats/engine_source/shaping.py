"""Small operations on sets of values."""

from pfid.formats.engine_source.values import (
    Known,
    Made,
    Many,
    Row,
    Table,
    Value,
    Values,
    elements,
    one,
)


def shallow(values: Values, depth: int) -> Values:
    """Values whose own arguments are kept only so deep."""
    return frozenset(_shallow_one(v, depth) for v in values)


def _shallow_one(value: Value, depth: int) -> Value:
    if isinstance(value, Made):
        if depth <= 0:
            return Made(value.kind, (), sure=False) if value.given else value
        kept = tuple((name, shallow(inner, depth - 1)) for name, inner in value.given)
        return Made(value.kind, kept, value.sure)
    if isinstance(value, Many):
        return Many(shallow(value.items, depth), value.registered)
    if isinstance(value, Row):
        return Row(tuple(shallow(inner, depth) for inner in value.items))
    if isinstance(value, Table):
        return Table(tuple((key, shallow(inner, depth)) for key, inner in value.entries))
    return value


def at_place(values: Values, place: int, length: int) -> Values:
    """What stands at one place of a row of known length."""
    found: set[Value] = set()
    for value in values:
        if isinstance(value, Row) and len(value.items) == length:
            found |= value.items[place]
        else:
            found |= elements(one(value))
    return frozenset(found)


def plain(default: Values) -> bool:
    """Whether a default is a number or a text, so that what is given instead is no module."""
    return bool(default) and all(
        isinstance(v, Known) and isinstance(v.value, bool | int | float | str) for v in default
    )


def only(values: Values) -> Value | None:
    """The value, if there is just one."""
    return next(iter(values)) if len(values) == 1 else None
