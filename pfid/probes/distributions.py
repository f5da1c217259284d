"""Which distributions are installed where training runs: names and versions, nothing is imported.

Asked: nothing. Answer: ``{"distributions": {name: version or null}, "unreadable": number,
"implementation", "prefix", "base_prefix"}``. The first of two of one name is the one that would be
imported, and the one that is told.

A launch waits for this answer. So the folders on the path are read here, in the manner of
``importlib.metadata``, which takes longer to load than all of this to run; to it is left whatever
is no folder. For the same reason nothing is imported that no interpreter holds ready.
"""

# ruff: noqa: PTH118, PTH123, PTH208 - pathlib would cost as much as all the rest

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` alone loads more than all of this does
if TYPE_CHECKING:
    from typing import BinaryIO

IMPLEMENTATIONS = {"cpython": "CPython", "pypy": "PyPy"}
HEADERS = ("METADATA", "PKG-INFO", "")
LINES_MAX = 3_000
LINE_MAX_BYTES = 16_384


def answer(_: dict[str, object]) -> dict[str, object]:
    """Read the metadata of everything on the path."""
    found: dict[str, str | None] = {}
    unreadable = 0
    for name, version in everything():
        if name:
            found.setdefault(name, version)
        else:
            unreadable += 1
    kind = sys.implementation.name
    return {
        "distributions": found,
        "unreadable": unreadable,
        "implementation": IMPLEMENTATIONS.get(kind, kind),
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
    }


def everything() -> list[tuple[str | None, str | None]]:
    """Name and version of every distribution, in the order in which modules would be found."""
    if any(map(_knows_more, sys.meta_path)):
        return _by_the_library()
    found = []
    for entry in sys.path:
        try:
            names = os.listdir(entry or ".")
        except NotADirectoryError:
            found += _by_the_library([entry])
        except OSError:
            continue
        else:
            found += [_read(os.path.join(entry, name)) for name in names if _is_one(entry, name)]
    return found


def _knows_more(finder: object) -> bool:
    """Whether this is an import hook of somebody else's that knows of distributions."""
    own = getattr(finder, "__module__", "") == "_frozen_importlib_external"
    return hasattr(finder, "find_distributions") and not own


def _is_one(entry: str, name: str) -> bool:
    small = name.lower()
    if small == "egg-info":
        return entry.lower().endswith(".egg")
    return small.endswith((".dist-info", ".egg-info"))


def _read(place: str) -> tuple[str | None, str | None]:
    """Name and version; None for each that cannot be told."""
    for header in HEADERS:
        try:
            with open(os.path.join(place, header) if header else place, "rb") as file:
                return _named(file)
        except OSError:
            continue
    return None, None


def _named(file: BinaryIO) -> tuple[str | None, str | None]:
    """What stands before the first empty line; a header without an end is none."""
    said: dict[bytes, str] = {}
    for _ in range(LINES_MAX):
        line = file.readline(LINE_MAX_BYTES)
        key, _, value = line.partition(b":")
        if not line.strip():
            break
        if key.lower() in (b"name", b"version"):
            said.setdefault(key.lower(), value.decode("utf-8", "replace").strip())
        if len(said) == 2:
            break
    return said.get(b"name"), said.get(b"version")


def _by_the_library(path: list[str] | None = None) -> list[tuple[str | None, str | None]]:
    import importlib.metadata

    found: list[tuple[str | None, str | None]] = []
    of = importlib.metadata.distributions
    for distribution in of() if path is None else of(path=path):
        try:
            metadata = distribution.metadata
            found.append((metadata["Name"], metadata["Version"]))
        except Exception:  # noqa: BLE001 - one broken installation hides no other
            found.append((None, None))
    return found
