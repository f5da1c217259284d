"""The Grafana dashboard that is shipped, and what its panels ask for."""

import json
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import Any, Final

FILE: Final = "dashboard.json"
_VARIABLE: Final = re.compile(r"\$\{?(\w+)(?::\w+)?\}?")
_LABEL_VALUES: Final = re.compile(
    r"label_values\((?P<series>\w+)(?:\{(?P<matchers>.*)\})?, (?P<label>\w+)\)"
)
STAND_INS: Final = {"job": "pfid", "__rate_interval": "5m", "__range": "6h", "__interval": "1m"}


def dashboard_text() -> str:
    """Return the JSON as Grafana imports it."""
    return files(__package__).joinpath(FILE).read_text(encoding="utf-8")


def expressions() -> Iterator[tuple[str, str]]:
    """Every query of variables and panels, by its title; a variable in it matches everything.

    What a variable asks for is a label: its query finds the series on which that has a value.
    """
    board = json.loads(dashboard_text())
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield f"${variable['name']}", concrete(labelled(variable["query"]))
    for panel in _panels(board["panels"]):
        for target in panel.get("targets", ()):
            yield panel["title"], concrete(target["expr"])


def labelled(query: str) -> str:
    """``label_values(SERIES, LABEL)`` as PromQL."""
    found = _LABEL_VALUES.fullmatch(query)
    if found is None:
        raise ValueError(f"a variable of the dashboard asks {query!r}, which is no label_values()")
    inner = ",".join(part for part in (found["matchers"], f'{found["label"]}!=""') if part)
    return f"{found['series']}{{{inner}}}"


def concrete(expr: str) -> str:
    """A query without variables: a variable of the dashboard matches everything."""
    return _VARIABLE.sub(lambda m: STAND_INS.get(m[1], ".*"), expr)


def _panels(panels: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        yield panel
        yield from _panels(panel.get("panels", ()))
