"""What the spec declares of the configuration, held against disk and installed library."""

import os
from typing import Any

from pfid.adapters.config_file import UnreadableFileError, read_config_file, value_at
from pfid.bootstrap.preflight.project import Project
from pfid.config.preflight.declared import Checkpoints, Choice, Declared, Range
from pfid.spec.ports.preflight import DeclaredFacts

_GB = 1e9


class _Found:
    """What was found, kind by kind."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.out_of_range: list[str] = []
        self.not_among: list[str] = []
        self.unreadable: list[str] = []


def declared_facts(project: Project) -> DeclaredFacts | None:
    """Look at everything declared; None where nothing is."""
    declared, checkpoints = project.spec.config, project.spec.checkpoints
    if declared is None and checkpoints is None:
        return None
    config = declared or Declared()
    found = _Found()
    for name in config.paths:
        _path(project, name, found)
    for one in config.ranges:
        _range(project, one, found)
    _choices(project, config.choices, found)
    needed, free = _room(project, checkpoints) if checkpoints is not None else (None, None)
    declarations = (*config.paths, *config.ranges, *config.choices)
    return DeclaredFacts(
        missing=tuple(found.missing),
        out_of_range=tuple(found.out_of_range),
        not_among=tuple(found.not_among),
        unreadable=tuple(found.unreadable),
        needed_bytes=needed,
        free_bytes=free,
        looked_at=len(declarations) + (checkpoints is not None),
    )


def _path(project: Project, name: str, found: _Found) -> None:
    """A path behind a folder that may not be entered is not missing: it cannot be told."""
    try:
        project.path(name).stat()
    except (FileNotFoundError, NotADirectoryError):
        found.missing.append(name)
    except OSError as error:
        found.unreadable.append(f"{name}: {error.strerror}")


def _value(project: Project, file: str, key: str, found: _Found) -> Any:
    """What stands there; null too, which is nothing that was looked at and found good."""
    try:
        value = value_at(read_config_file(project.path(file)), key)
    except UnreadableFileError as error:
        found.unreadable.append(f"{file}: {error}")
        return None
    if value is None:
        found.unreadable.append(f"{file}: {key} is null")
    return value


def _range(project: Project, one: Range, found: _Found) -> None:
    value = _value(project, one.file, one.key, found)
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        found.unreadable.append(f"{one.file}: {one.key} is no number")
        return
    low = one.min is None or value >= one.min
    high = one.max is None or value <= one.max
    if not (low and high):
        limits = f"{'' if one.min is None else one.min}..{'' if one.max is None else one.max}"
        found.out_of_range.append(f"{one.file}: {one.key} = {value} is not in {limits}")


def _choices(project: Project, choices: list[Choice], found: _Found) -> None:
    of = [c.of for c in choices if c.of]
    known = _enumerations(project, of, found) if of else {}
    for choice in choices:
        among = known.get(choice.of, []) if choice.of else choice.among
        value = _value(project, choice.file, choice.key, found)
        if value is None or (choice.of and choice.of not in known):
            continue
        if str(value) not in among:
            words = ", ".join(among)
            found.not_among.append(f"{choice.file}: {choice.key} = {value} is not one of {words}")


def _enumerations(project: Project, of: list[str], found: _Found) -> dict[str, list[str]]:
    answer = project.ask("ask_choices", {"of": of})
    if answer.said is None:
        last = (answer.detail.splitlines() or [""])[-1]
        found.unreadable.append(f"{', '.join(of)}: {answer.problem.value} {last}".rstrip())
        return {}
    known = {}
    for name, words in zip(of, answer.said["of"], strict=True):
        if isinstance(words, str):
            found.unreadable.append(words)
        else:
            known[name] = [str(word) for word in words]
    return known


def _room(project: Project, checkpoints: Checkpoints) -> tuple[float, float | None]:
    """Bytes that checkpoints take, and those that are free where they go."""
    needed = checkpoints.size_gb * _GB * checkpoints.keep
    folder = project.path(checkpoints.folder)
    for place in (folder, *folder.parents):
        try:
            room = os.statvfs(place)
        except FileNotFoundError:
            continue
        except OSError:
            return needed, None
        return needed, float(room.f_bavail * room.f_frsize)
    return needed, None
