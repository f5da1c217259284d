"""Plain data as YAML: maps, lists and scalars, every text quoted. Needs no library."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def yaml_text(data: Mapping[str, Any]) -> str:
    """Return a document.

    Texts are JSON strings, which are YAML too: nothing in them can be taken for syntax.
    """
    return "\n".join(_map(data, "")) + "\n"


def _map(data: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in data.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{key}:"
            yield from _map(value, indent + "  ")
        elif isinstance(value, list | tuple) and value:
            yield f"{indent}{key}:"
            yield from _list(value, indent + "  ")
        else:
            yield f"{indent}{key}: {_scalar(value)}"


def _list(data: list[Any] | tuple[Any, ...], indent: str) -> Iterator[str]:
    for value in data:
        if isinstance(value, Mapping) and value:
            first, *rest = _map(value, indent + "  ")
            yield f"{indent}- {first.lstrip()}"
            yield from rest
        else:
            yield f"{indent}- {_scalar(value)}"


def _scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
