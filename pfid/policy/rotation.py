"""How a log makes room for the next run: a plan of small steps, each of which loses nothing.

The next run's file is written beside the log first, so that a full disk is met before anything
has moved; then the old files step aside under names nobody has; then the new file takes the
log's name. A plan cut off after any step is recovered by planning and carrying out again.
Source: playbook section 4.7.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from pfid.domain.errors import LaunchError

PREPARED_PREFIX: Final = ".pfid-new."


class LogKind(Enum):
    """What stands at a log's path."""

    ABSENT = "nothing"
    EMPTY = "an empty file"
    CONTENT = "a file"
    SYMLINK = "a symbolic link"
    DIRECTORY = "a directory"
    SPECIAL = "not a regular file"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSeen:
    """A log as it was found.

    Attributes:
        folder: its folder, absolute.
        name: its file name.
        kind: what stands there.
        neighbours: names in the folder that begin as a rotated or prepared file of this log does.
    """

    folder: str
    name: str
    kind: LogKind
    neighbours: frozenset[str] = frozenset()

    @property
    def path(self) -> str:
        """Folder and name."""
        return f"{self.folder.rstrip('/')}/{self.name}"

    def beside(self, name: str) -> str:
        """Path of another name in the same folder."""
        return f"{self.folder.rstrip('/')}/{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    """Remove a prepared file that an interrupted launch left; no run ever wrote to it."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepare:
    """Create a file that must not exist, append-only, and write its first line."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Rename without ever replacing an existing name."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """Give the prepared file the log's name, without ever replacing one."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopt:
    """Open the empty file that stands there already, append-only, and write the first line."""

    path: str
    text: str


Step = Discard | Prepare | Move | Publish | Adopt


def rotated_name(name: str, stamp: str, number: int = 0) -> str:
    """Return ``NAME.YYYYMMDDTHHMMSSZ.log`` for ``NAME.log``; other suffixes stay as they are.

    Args:
        name: file name of the log.
        stamp: UTC, ``YYYYMMDDTHHMMSSZ``.
        number: 0, or 1 and up where that name is taken.
    """
    stem, suffix = _split(name)
    again = f"-{number}" if number else ""
    return f"{stem}.{stamp}{again}{suffix}"


def _split(name: str) -> tuple[str, str]:
    stem, dot, suffix = name.rpartition(".")
    return (stem, dot + suffix) if stem.strip(".") else (name, "")


def prepared_name(name: str, run_id: str) -> str:
    """Name of the next run's file until it takes the log's place."""
    return f"{PREPARED_PREFIX}{name}.{run_id}"


def belongs_beside(name: str, neighbour: str) -> bool:
    """Whether a directory entry matters to the rotation of the log ``name``."""
    return neighbour.startswith((f"{_split(name)[0]}.", f"{PREPARED_PREFIX}{name}."))


def plan_rotation(
    logs: Sequence[LogSeen], *, stamp: str, run_id: str, first_line: str | None
) -> tuple[Step, ...]:
    """Plan.

    Args:
        logs: as found, the one that gets the child's output first.
        stamp: UTC time for the rotated names.
        run_id: of the run that is about to start.
        first_line: what the first log begins with; None if pfid does not create it.

    Returns:
        Steps to be carried out in order; nothing to undo if the first of them fails.

    Raises:
        LaunchError: for a path that cannot be a log; nothing was touched.
    """
    for log in logs:
        _refuse_what_is_no_log(log)
    moves = [_move(log, stamp) for log in logs if log.kind is LogKind.CONTENT]
    if first_line is None or not logs:
        return tuple(moves)
    first = logs[0]
    discards = [Discard(path=first.beside(left)) for left in _left_behind(first)]
    if first.kind is LogKind.EMPTY:
        return (*discards, *moves, Adopt(path=first.path, text=first_line))
    prepared = first.beside(prepared_name(first.name, run_id))
    return (
        *discards,
        Prepare(path=prepared, text=first_line),
        *moves,
        Publish(source=prepared, target=first.path),
    )


def _left_behind(log: LogSeen) -> list[str]:
    start = f"{PREPARED_PREFIX}{log.name}."
    return sorted(name for name in log.neighbours if name.startswith(start))


def _move(log: LogSeen, stamp: str) -> Move:
    number = 0
    while rotated_name(log.name, stamp, number) in log.neighbours:
        number += 1
    return Move(source=log.path, target=log.beside(rotated_name(log.name, stamp, number)))


_REMEDY: Final = {
    LogKind.SYMLINK: "name the file it leads to",
    LogKind.DIRECTORY: "name a file in it",
    LogKind.SPECIAL: "name a regular file",
}


def _refuse_what_is_no_log(log: LogSeen) -> None:
    remedy = _REMEDY.get(log.kind)
    if remedy is not None:
        raise LaunchError(f"log {log.path} is {log.kind.value}; {remedy} (nothing was touched)")
