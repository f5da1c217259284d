"""What does a project's own metric answer to inputs whose answers are known?

Asked: ``folder``, ``probes`` (this folder), ``function``, ``calls``: a list of
``{"args": [...], "kwargs": {...}}``, or ``calls_file``: a file with such a list.
Answer: ``{"missing": text}``, or ``{"answers": [number or text, ...]}``: a text says what came
instead of a number.
"""

import importlib.util
import json
import math
from typing import Any, Callable, Dict


def answer(asked: Dict[str, Any]) -> Dict[str, Any]:
    """Call the metric with each input."""
    spec = importlib.util.spec_from_file_location("pfid_loading", asked["probes"] + "/loading.py")
    if spec is None or spec.loader is None:
        raise ImportError(asked["probes"])
    loading = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loading)
    loading.enter(asked["folder"])
    calls = asked.get("calls")
    if calls is None:
        with open(asked["calls_file"], encoding="ascii") as file:  # noqa: PTH123 - an import less
            calls = json.load(file)
    try:
        function = loading.load(asked["function"])
    except loading.MissingError as error:
        return {"missing": str(error)}
    return {"answers": [_number(function, call) for call in calls]}


def _number(function: Callable[..., Any], call: Dict[str, Any]) -> Any:
    try:
        value = function(*call["args"], **call["kwargs"])
    except Exception as error:  # noqa: BLE001 - the user's function may raise anything
        return f"raised {type(error).__name__}: {error}"
    try:
        number = float(value)
    except (TypeError, ValueError):
        return f"{type(value).__name__} is no number"
    return number if math.isfinite(number) else f"{number} is no finite number"
