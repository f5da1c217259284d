"""Where an engine's source lies on disk, its version, and what plugs into it; nothing is run."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TEXT_MAX_BYTES: Final = 1 << 20
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
        plugins: entry points of other distributions, as ``distribution: name``.
    """

    folder: Path | None = None
    version: str = ""
    plugins: tuple[str, ...] = ()


def find_engine(place: Path, package: str) -> EngineFiles:
    """Find an engine: ``place`` is its package, or a folder that holds it."""
    for folder in (place, place / package):
        if (folder / "model_executor").is_dir():
            beside = folder.absolute().parent
            return EngineFiles(
                folder=folder,
                version=_version(folder, beside, package),
                plugins=tuple(_plugins(beside, package)),
            )
    return EngineFiles()


def _version(folder: Path, beside: Path, package: str) -> str:
    found = _VERSION.search(_text(folder / "_version.py"))
    if found is not None:
        return found[1]
    for name in _names(beside):
        if name.startswith(f"{package}-") and name.endswith(".dist-info"):
            told = _METADATA.search(_text(beside / name / "METADATA"))
            return told[1] if told else ""
    return ""


def _plugins(beside: Path, package: str) -> Iterator[str]:
    for name in _names(beside):
        if not name.endswith((".dist-info", ".egg-info")) or name.startswith(f"{package}-"):
            continue
        yield from entry_points(_text(beside / name / "entry_points.txt"), name, package)


def entry_points(text: str, distribution: str, package: str) -> Iterator[str]:
    """Entry points of groups that an engine loads when it starts, out of an INI text."""
    group = ""
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("["):
            group = bare.strip("[]").strip()
        elif group.startswith(f"{package}.") and "=" in bare:
            yield f"{distribution.partition('-')[0]}: {bare.partition('=')[0].strip()}"


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
