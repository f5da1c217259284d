"""Texts of a source tree that speak of some settings, as it lies there or as a commit holds it."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from pfid.adapters.committed_files import CommittedFiles, CommitUnreadableError
from pfid.domain.errors import why

FILE_MAX_BYTES: Final = 1 << 20
FILES_MAX: Final = 10_000
_SKIPPED: Final = frozenset(
    {
        *("node_modules", "__pycache__", "site-packages", "venv", "env", "dist", "build", "wandb"),
        *("checkpoints", "outputs", "runs", "data"),
    }
)
CONFIGS: Final = frozenset({".yaml", ".yml", ".toml", ".json"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """One file's text.

    Attributes:
        where: its path; with the commit before it where it was read out of one.
        suffix: of its name.
        text: all of it.
    """

    where: str
    suffix: str
    text: str


def texts_lying(source: Path, words: Sequence[str], problems: list[str]) -> Iterator[SourceText]:
    """Yield the texts of a folder, or of one file, that hold one of the words."""
    for file in _files(source, problems):
        try:
            if not file.is_file() or file.stat().st_size > FILE_MAX_BYTES:
                continue
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            problems.append(f"{file}: cannot be read: {why(error)}")
            continue
        if any(word in text.lower() for word in words):
            yield SourceText(where=str(file), suffix=file.suffix, text=text)


def texts_committed(
    committed: CommittedFiles, name: str, words: Sequence[str], problems: list[str]
) -> Iterator[SourceText]:
    """Yield the texts of a commit that hold one of the words.

    Args:
        committed: the folder of the commit.
        name: one file of it, "" for all.
        words: in lower case.
        problems: takes what cannot be read.
    """
    try:
        found = [path for path in committed.mentioning(words, name) if name or is_source(path)]
    except CommitUnreadableError as error:
        problems.append(str(error))
        return
    if len(found) > FILES_MAX:
        problems.append(f"{committed.commit.describe}: over {FILES_MAX} files; name a part of it")
    for path in found[:FILES_MAX]:
        try:
            if committed.size_bytes(path) > FILE_MAX_BYTES:
                continue
            text = committed.read(path).decode("utf-8", "replace")
        except CommitUnreadableError as error:
            problems.append(f"{path}: {error}")
            continue
        where = f"{committed.commit.describe}:{path}"
        yield SourceText(where=where, suffix=PurePosixPath(path).suffix, text=text)


def is_source(path: str) -> bool:
    """Whether a path, as a repository names it, is one that is read of a whole tree."""
    *folders, name = PurePosixPath(path).parts or ("",)
    left_out = any(folder in _SKIPPED or folder.startswith(".") for folder in folders)
    return not left_out and _is_read(PurePosixPath(name).suffix)


def _is_read(suffix: str) -> bool:
    return suffix == ".py" or suffix in CONFIGS


def _files(source: Path, problems: list[str]) -> Iterator[Path]:
    if not source.is_dir():
        yield source
        return
    count = 0
    for place, folders, names in os.walk(source, onerror=lambda e: problems.append(str(e))):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED and not f.startswith("."))
        for name in sorted(names):
            file = Path(place, name)
            if _is_read(file.suffix):
                count += 1
                if count > FILES_MAX:
                    problems.append(f"{source}: has over {FILES_MAX} files; name a part of it")
                    return
                yield file
