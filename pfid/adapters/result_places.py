"""Which files of a folder are records of an evaluation."""

import re
from collections import Counter
from pathlib import Path
from typing import Final

from pfid.adapters.result_lines import BOM
from pfid.domain.errors import ConfigError
from pfid.formats.results.lm_eval import task_of

PATTERNS: Final = ("samples_*.jsonl", "samples_*.jsonl.gz", "*.eval")
HEAD_BYTES: Final = 4_096
_LOG_HEAD: Final = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"')
"""How a log of inspect-ai begins that was written with ``--log-format json``."""


def files_of(paths: tuple[Path, ...]) -> list[Path]:
    """The files that are named, and those of folders that are: logs of the tools pfid knows.

    Raises:
        ConfigError: if a folder holds none, or several runs of one task: which is meant?
    """
    found: list[Path] = []
    for path in paths:
        found += _of_folder(path) if path.is_dir() else [path]
    return found


def _of_folder(folder: Path) -> list[Path]:
    named = {p for pattern in PATTERNS for p in folder.rglob(pattern) if p.is_file()}
    inside = sorted(named | {p for p in folder.rglob("*.json") if p.is_file() and _is_log(p)})
    if not inside:
        told = f"{', '.join(PATTERNS)} and no log of inspect-ai in JSON"
        raise ConfigError((f"{folder}: no {told} lies there; name the files",))
    tasks = Counter(task for p in inside if (task := task_of(p.name)))
    several = [task for task, n in tasks.items() if n > 1]
    if several:
        said = ", ".join(several[:3])
        raise ConfigError((f"{folder}: holds several runs of {said}; name the files of one",))
    return inside


def _is_log(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        why = error.strerror or str(error)
        raise ConfigError((f"{path}: cannot be read: {why}; name the files",)) from error
    return _LOG_HEAD.match(head.removeprefix(BOM)) is not None
