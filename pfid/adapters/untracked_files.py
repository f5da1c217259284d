"""Files that git does not track: it names a folder of them by the folder alone."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

LEFT_OUT: Final = frozenset({".git", "__pycache__", "node_modules"})


def untracked_files(root: Path, entries: Iterable[str]) -> Iterator[str]:
    """Every file of git's untracked entries, from the root; of a repository within, none."""
    for entry in entries:
        if not entry.endswith("/"):
            yield entry
        elif not (root / entry / ".git").exists():
            yield from _below(root, entry)


def _below(root: Path, entry: str) -> Iterator[str]:
    for place, folders, files in os.walk(root / entry):
        folders[:] = sorted(f for f in folders if f not in LEFT_OUT)
        for name in sorted(files):
            yield os.path.relpath(os.path.join(place, name), root)  # noqa: PTH118 - plain strings
