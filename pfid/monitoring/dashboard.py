"""The Grafana dashboard that is shipped, and what its panels ask for."""

import json
import re
from collections.abc import Iterable, Iterator
from importlib.resources import files
from typing import Any, Final

FILE: Final = "dashboard.json"
_VARIABLE: Final = re.compile(r"\$\{?(\w+)(?::\w+)?\}?")
STAND_INS: Final = {"job": "pfid", "__rate_interval": "5m", "__range": "6h", "__interval": "1m"}


def dashboard_text() -> str:
    """Return the JSON as Grafana imports it."""
    return files(__package__).joinpath(FILE).read_text(encoding="utf-8")


def expressions() -> Iterator[tuple[str, str]]:
    """Every query of every panel, by the panel's title, variables replaced by what matches all."""
    for panel in _panels(json.loads(dashboard_text())["panels"]):
        for target in panel.get("targets", ()):
            yield panel["title"], concrete(target["expr"])


def concrete(expr: str) -> str:
    """A query without variables: a variable of the dashboard matches everything."""
    return _VARIABLE.sub(lambda m: STAND_INS.get(m[1], ".*"), expr)


def _panels(panels: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for panel in panels:
        yield panel
        yield from _panels(panel.get("panels", ()))
