"""Reads the files of refusal patterns: those that ship, and a project's own."""

from collections.abc import Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final

from pfid.config.refusal_patterns import loads_patterns
from pfid.config.toml_file import load_file
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
    return tuple(loads_patterns(f.read_text("utf-8"), name=f.name) for f in found)


def own_patterns(paths: Sequence[Path]) -> tuple[tuple[PatternFile, ...], tuple[str, ...]]:
    """A project's own files, and what is wrong with those that cannot be read."""
    read: list[PatternFile] = []
    problems: list[str] = []
    for path in paths:
        try:
            read.append(
                load_file(
                    path,
                    partial(loads_patterns, name=path.name),
                    "pattern file",
                    max_bytes=MAX_BYTES,
                    name=path.name,
                )
            )
        except ConfigError as error:
            problems += error.problems
    return tuple(read), tuple(problems)
