"""The checks that ship with pfid: one file each, found by looking; a new one needs no list."""

import importlib
import pkgutil
import sys
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
    """Load one shipped file: exactly one check, called like the file, of the folder's stage.

    A file that changed since it was imported is imported again: a proof is about the code that
    runs, and keyed to the source it was made of.
    """
    collected = collect(lambda: _as_on_disk(source.place), source.name)
    problems = [*collected.problems, *_misplaced(collected, source, stage)]
    if problems:
        return [], [
            Problem(plugin=source.name, what=what, check=source.name, stage=stage.value)
            for what in problems
        ]
    file = _file_of(sys.modules[source.place])
    digest = _loaded[source.place]
    return [
        Registered(check=check, plugin=source.name, source=digest, file=file)
        for check in collected.checks
    ], []


_loaded: Final[dict[str, str]] = {}
"""Digest of the source each module was loaded from, by its name."""


def _as_on_disk(place: str) -> ModuleType:
    module = sys.modules.get(place)
    if module is None or place not in _loaded:
        module = importlib.import_module(place)
    elif _loaded[place] != source_digest(_file_of(module)):
        importlib.invalidate_caches()
        module = importlib.reload(module)
    _loaded[place] = source_digest(_file_of(module))
    return module


def _file_of(module: ModuleType) -> Path | None:
    return Path(module.__file__) if module.__file__ else None


def _misplaced(collected: Collected, source: PluginSource, stage: Stage) -> Iterator[str]:
    if len(collected.checks) > 1:
        yield f"yields {len(collected.checks)} checks: one check a file"
    for check in collected.checks:
        if check.name != source.name:
            yield f"the check is called {check.name}: it must be called like its file"
        if check.stage is not stage:
            yield f"the check says stage {check.stage.value} and lies in {stage.value}/"
