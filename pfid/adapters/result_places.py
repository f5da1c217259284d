"""Which files of a folder are records of an evaluation."""

from collections import Counter
from pathlib import Path
from typing import Final

from pfid.domain.errors import ConfigError
from pfid.formats.results.lm_eval import task_of

PATTERNS: Final = ("samples_*.jsonl", "samples_*.jsonl.gz", "*.eval")


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
    inside = sorted({p for pattern in PATTERNS for p in folder.rglob(pattern) if p.is_file()})
    if not inside:
        raise ConfigError((f"{folder}: no {', '.join(PATTERNS)} lies there; name the files",))
    tasks = Counter(task for p in inside if (task := task_of(p.name)))
    several = [task for task, n in tasks.items() if n > 1]
    if several:
        said = ", ".join(several[:3])
        raise ConfigError((f"{folder}: holds several runs of {said}; name the files of one",))
    return inside
