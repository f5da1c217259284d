"""Reads the files of refusal patterns: those that ship, and a project's own."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from pfid.config.refusal_patterns import loads_patterns
from pfid.domain.answer import PatternFile
from pfid.domain.errors import ConfigError

FOLDER: Final = "refusal_words"
FIRST: Final = "en.toml"
MAX_BYTES: Final = 4 * 1024 * 1024


def shipped_patterns() -> tuple[PatternFile, ...]:
    """Every file that ships, the one with the most controls first."""
    folder = files("pfid.adapters").joinpath(FOLDER)
    found = sorted(
        (f for f in folder.iterdir() if f.name.endswith(".toml")),
        key=lambda f: (f.name != FIRST, f.name),
    )
    return tuple(loads_patterns(f.read_text("utf-8"), f.name) for f in found)


def own_patterns(paths: Sequence[Path]) -> tuple[tuple[PatternFile, ...], tuple[str, ...]]:
    """A project's own files, and what is wrong with those that cannot be read."""
    read: list[PatternFile] = []
    problems: list[str] = []
    for path in paths:
        try:
            read.append(loads_patterns(_text(path), path.name))
        except ConfigError as error:
            problems += error.problems
    return tuple(read), tuple(problems)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError((f"{path.name}: cannot be read: {error.strerror}",)) from error
    if len(data) > MAX_BYTES:
        raise ConfigError((f"{path.name}: over {MAX_BYTES} bytes is no pattern file",))
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ConfigError((f"{path.name}: not UTF-8: {error}",)) from error
