"""TOML tables to structs, key by key, so that every bad key is reported at once with its path."""

from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin

import msgspec


def build_table(kind: Any, data: Any, path: str, problems: list[str]) -> Any:
    """Build a table key by key; what cannot be built is reported and its default stands in.

    Args:
        kind: struct of the table.
        data: what TOML gave.
        path: of the table, "" for the whole file.
        problems: every one found is added here.

    Returns:
        The struct; None if it is no table, or lacks what has no default.
    """
    if not isinstance(data, dict):
        problems.append(f"{path}: is a table, write [{path}]; got {_said(data)}")
        return None
    known = {f.encode_name: f for f in msgspec.structs.fields(kind)}
    problems += [_unknown(_join(path, key), key, known) for key in data if key not in known]
    values = {
        name: _value(f.type, data[name], _join(path, name), problems)
        for name, f in known.items()
        if name in data
    }
    missing = [n for n, f in known.items() if f.required and n not in data]
    problems += [f"{_join(path, name)}: is required" for name in missing]
    if any(f.required and values.get(n) is None for n, f in known.items()):
        return None
    return kind(**{name: value for name, value in values.items() if value is not None})


def _value(kind: Any, data: Any, path: str, problems: list[str]) -> Any:
    bare = _only_struct(get_args(kind)[0] if get_origin(kind) is Annotated else kind)
    if isinstance(bare, type) and issubclass(bare, msgspec.Struct):
        return build_table(bare, data, path, problems)
    if get_origin(bare) is dict and isinstance(data, dict):
        of = get_args(bare)[1]
        entries = {k: _value(of, v, _join(path, k), problems) for k, v in data.items()}
        return {k: v for k, v in entries.items() if v is not None}
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        problems.append(_leaf_problem(path, str(error)))
        return None


def _only_struct(kind: Any) -> Any:
    """Return the struct of ``Struct | None``: a table that may be left out."""
    if get_origin(kind) is not UnionType:
        return kind
    structs = [k for k in get_args(kind) if k is not NoneType]
    is_table = len(structs) == 1 and isinstance(structs[0], type)
    return structs[0] if is_table and issubclass(structs[0], msgspec.Struct) else kind


def _leaf_problem(path: str, message: str) -> str:
    said, _, where = message.partition(" - at `$")
    return f"{path}{where.rstrip('`')}: {said[:1].lower()}{said[1:]}"


def _unknown(path: str, key: str, known: Any) -> str:
    near = get_close_matches(key, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; known here: {', '.join(known)}"
    return f"{path}: unknown key{hint}"


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _said(data: Any) -> str:
    return f"{type(data).__name__} {data!r}"[:80]
