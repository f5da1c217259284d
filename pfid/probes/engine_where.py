"""Where does this interpreter have an engine, which version, and what plugs into it?

Asked: ``engine``, the name of its package. Nothing is imported.
Answer: ``{"folder", "version", "plugins": [[distribution, group, name, value]]}``, or
``{"problem": code, "detail": text}``.
"""

import importlib.util
import os
from importlib import metadata
from typing import Any, Dict, List


def answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    """Look it up."""
    engine = str(asked["engine"])
    spec = importlib.util.find_spec(engine)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if spec is None or not places:
        return {"problem": "engine_not_installed", "detail": engine + " is not installed"}
    return {
        "folder": os.path.abspath(places[0]),  # noqa: PTH100
        "version": _version(engine),
        "plugins": _plugins(engine),
    }


def _version(engine: str) -> str:
    try:
        return metadata.version(engine)
    except Exception:  # noqa: BLE001 - a source tree on the path has no distribution
        return ""


def _plugins(engine: str) -> List[List[str]]:
    """Entry points of other distributions that the engine loads when it starts."""
    found = []
    for distribution in metadata.distributions():
        for point in distribution.entry_points:
            if point.group.startswith(engine + "."):
                name = str(distribution.metadata["Name"])
                found.append([name, point.group, point.name, point.value])
    return found
