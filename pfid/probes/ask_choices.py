"""Which words does an enumeration of the installed library know?

Asked: ``folder``, ``probes`` (this folder), ``of``: a list of ``module:Enum``.
Answer: ``{"of": [...]}``, for each a list of words, or a text saying why there are none.
"""

import enum
import importlib.util
from typing import Any, Dict, Iterable


def answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    """Read each enumeration: values of an Enum, keys of a mapping, items of a sequence."""
    spec = importlib.util.spec_from_file_location("pfid_loading", asked["probes"] + "/loading.py")
    if spec is None or spec.loader is None:
        raise ImportError(asked["probes"])
    loading = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loading)
    loading.enter(asked["folder"])
    return {"of": [_words(loading, name) for name in asked["of"]]}


def _words(loading: Any, name: str) -> Any:
    try:
        found = loading.load(name)
    except loading.MissingError as error:
        return str(error)
    if isinstance(found, type) and issubclass(found, enum.Enum):
        return [str(member.value) for member in found]
    if isinstance(found, str) or not isinstance(found, Iterable):
        return f"{name} is no enumeration, mapping or list"
    return [str(word) for word in found]
