"""The checks that ship with pfid: one file each, found by looking; a new one needs no list."""

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

from pfid.host.plugins import PluginKind, PluginSource, Problem, Registered
from pfid.spec.check import Stage
from pfid.workers.plugin_collect import Collected, collect, source_digest

PACKAGE: Final = "pfid_plugins"


def shipped_sources(stage: Stage, package: str = PACKAGE) -> Iterator[PluginSource]:
    """Every file of a stage's folder that does not begin with an underscore."""
    try:
        folder = importlib.import_module(f"{package}.{stage.value}")
    except ModuleNotFoundError:
        return
    for found in sorted(pkgutil.iter_modules(folder.__path__), key=lambda m: m.name):
        if not found.name.startswith("_"):
            place = f"{folder.__name__}.{found.name}"
            yield PluginSource(name=found.name, kind=PluginKind.SHIPPED, place=place)


def load_shipped(source: PluginSource, stage: Stage) -> tuple[list[Registered], list[Problem]]:
    """Load one shipped file: exactly one check, called like the file, of the folder's stage."""
    loaded: list[ModuleType] = []

    def load() -> ModuleType:
        loaded.append(importlib.import_module(source.place))
        return loaded[0]

    collected = collect(load, source.name)
    file = getattr(loaded[0], "__file__", None) if loaded else None
    problems = [*collected.problems, *_misplaced(collected, source, stage)]
    named = [
        Problem(plugin=source.name, what=what, check=source.name, stage=stage.value)
        for what in problems
    ]
    digest = source_digest(Path(file) if file else None)
    found = [Registered(check=c, plugin=source.name, source=digest) for c in collected.checks]
    return ([] if named else found), named


def _misplaced(collected: Collected, source: PluginSource, stage: Stage) -> Iterator[str]:
    if len(collected.checks) > 1:
        yield f"yields {len(collected.checks)} checks: one check a file"
    for check in collected.checks:
        if check.name != source.name:
            yield f"the check is called {check.name}: it must be called like its file"
        if check.stage is not stage:
            yield f"the check says stage {check.stage.value} and lies in {stage.value}/"
