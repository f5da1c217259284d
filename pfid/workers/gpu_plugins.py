"""Samplers that plugins bring, for the GPUs of other vendors."""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pluggy

from pfid.spec import hookspecs
from pfid.spec.gpu_sampler import GpuSampler
from pfid.wire.gpu import PluginPlace
from pfid.workers.plugin_collect import load_file

MAX_SAMPLERS: Final = 8
NAME_CHARS: Final = 32
TAKEN: Final = frozenset({"nvml", "proc", "steps", "disk"})


def collect_samplers(
    places: Iterable[PluginPlace],
) -> tuple[list[GpuSampler], list[tuple[str, str]]]:
    """Samplers of every plugin that brings one, and what is wrong with the others."""
    found: list[GpuSampler] = []
    problems: list[tuple[str, str]] = []
    for place in places:
        try:
            _collect(place, found, problems)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a plugin raises is named
            problems.append((place.name, f"{type(error).__name__}: {error}"[:200]))
    return found, problems


def _collect(place: PluginPlace, found: list[GpuSampler], problems: list[tuple[str, str]]) -> None:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(_load(place), place.name)
    for implementation in manager.hook.pfid_gpu_samplers.get_hookimpls():
        handed_over: Iterable[object] = implementation.function()  # type: ignore[assignment]
        for sampler in handed_over:
            if not isinstance(sampler, GpuSampler):
                what = f"yields {type(sampler).__name__}, not a GpuSampler"
            elif not (what := _wrong(sampler, found)):
                found.append(sampler)
                continue
            problems.append((place.name, what))


def _wrong(sampler: GpuSampler, found: list[GpuSampler]) -> str:
    name = sampler.name
    if not name.isalnum() or name != name.lower() or len(name) > NAME_CHARS:
        return "its name is no lower-case word"
    if name in TAKEN or any(name == other.name for other in found):
        return f"the name {name} is taken"
    return "" if len(found) < MAX_SAMPLERS else f"more than {MAX_SAMPLERS} samplers"


def _load(place: PluginPlace) -> object:
    if place.is_file:
        return load_file(Path(place.place))
    module, _, attribute = place.place.partition(":")
    loaded: object = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded
