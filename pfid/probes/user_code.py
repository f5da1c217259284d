"""The user's own code: found by ``MODULE:NAME`` and called with what it asks for by name."""

import importlib
import inspect
from typing import Any, Callable, Dict, List

from .channel import Refused


def find(target: str) -> Callable[..., Any]:
    """Import ``MODULE:NAME``; what the module raises while it is imported stays what it is.

    Raises:
        Refused: if there is no such module or nothing to call of that name.
    """
    module_name, colon, path = target.partition(":")
    if not colon or not module_name or not path:
        raise Refused("no_target", f"{target!r} is not MODULE:NAME")
    try:
        found = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise  # something that the module itself imports
        raise Refused("no_module", f"there is no module {error.name!r}") from error
    for name in path.split("."):
        if not hasattr(found, name):
            raise Refused("no_name", f"{module_name} has no {path!r}")
        found = getattr(found, name)
    if not callable(found):
        raise Refused("not_callable", f"{target} is {type(found).__name__} and cannot be called")
    called: Callable[..., Any] = found
    return called


def call(function: Callable[..., Any], offered: Dict[str, Any], target: str) -> Any:
    """Call a function with those of the offered values that it takes, by the names of its own.

    Raises:
        Refused: if it needs something that is not offered.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function(**offered)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    missing: List[str] = [p.name for p in named if p.default is p.empty and p.name not in offered]
    if missing:
        raise Refused(
            "wants_more",
            f"{target} wants {', '.join(missing)}; given: {', '.join(sorted(offered))}",
        )
    known = {p.name for p in named}
    return function(**{k: v for k, v in offered.items() if takes_any or k in known})
