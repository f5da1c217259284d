"""Where an engine's source lies on disk, its version, and what plugs into it; nothing is run."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TEXT_MAX_BYTES: Final = 1 << 20
REPLACING: Final = ("general_plugins", "platform_plugins")
"""Groups whose code may register models; others plug in elsewhere."""
EntryPoint = tuple[str, str, str, str]
"""Distribution, group, name and value."""
_VERSION: Final = re.compile(
    r"""(?m)^(?:__version__\s*=\s*)?(?:version|__version__)\s*=\s*['"]([^'"\n]{1,60})['"]"""
)
_METADATA: Final = re.compile(r"(?m)^Version:\s*(\S{1,60})\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFiles:
    """An engine on disk.

    Attributes:
        folder: its package; None if there is none.
        version: "" if nothing says.
        built: version of its distribution, which tells what it was built for; "" without one.
        plugins: entry points that may replace classes, as ``distribution: name``.
    """

    folder: Path | None = None
    version: str = ""
    built: str = ""
    plugins: tuple[str, ...] = ()


def find_engine(place: Path, package: str) -> EngineFiles:
    """Find an engine: ``place`` is its package, or a folder that holds it."""
    for folder in (place, place / package):
        if (folder / "model_executor").is_dir():
            beside = folder.absolute().parent
            found = _VERSION.search(_text(folder / "_version.py"))
            built = _distribution(beside, package)
            return EngineFiles(
                folder=folder,
                version=found[1] if found is not None else built,
                built=built,
                plugins=tuple(_plugins(beside, package)),
            )
    return EngineFiles()


def _distribution(beside: Path, package: str) -> str:
    for name in _names(beside):
        if name.startswith(f"{package}-") and name.endswith(".dist-info"):
            told = _METADATA.search(_text(beside / name / "METADATA"))
            return told[1] if told else ""
    return ""


def _plugins(beside: Path, package: str) -> Iterator[str]:
    for name in _names(beside):
        if name.endswith((".dist-info", ".egg-info")):
            text = _text(beside / name / "entry_points.txt")
            yield from replacing(entry_points(text, name), package)


def entry_points(text: str, distribution: str) -> Iterator[EntryPoint]:
    """Entry points out of the INI text of a distribution's folder."""
    group = ""
    for line in text.splitlines():
        name, equals, value = (part.strip() for part in line.partition("="))
        if name.startswith("["):
            group = name.strip("[]").strip()
        elif equals:
            yield distribution.partition("-")[0], group, name, value


def replacing(points: Iterable[EntryPoint], package: str) -> Iterator[str]:
    """Entry points that may put another class in place: loaded at start, and not the engine's."""
    for distribution, group, name, value in points:
        kind = group.removeprefix(f"{package}.")
        if kind in REPLACING and not value.startswith(f"{package}."):
            yield f"{distribution[:100]}: {name[:100]}"


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return []


def _text(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(TEXT_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
