"""What ``git status --porcelain=v2 --branch -z`` and ``git ls-files -z`` say."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct, field

from pfid.domain.repository import CHANGES_MAX, GitChange, GitSubmodule

_GITLINK: Final = "160000"
_SYMLINK: Final = "120000"
_FIELDS: Final = {"1": 7, "u": 9}
"""Blanks before the path, by kind of entry."""
_NULL_OID: Final = "0"


class GitStatus(Struct, frozen=True, kw_only=True):
    """A working tree, as ``git status`` tells it; see GitFacts for the fields."""

    commit: str | None
    branch: str | None
    changes: tuple[GitChange, ...]
    changes_n: int
    untracked: tuple[str, ...]
    untracked_n: int
    submodules: Mapping[str, GitSubmodule] = field(default_factory=dict)


def parse_status(text: bytes) -> GitStatus:
    """Read it; without renames, so that every field stands alone."""
    header: dict[str, str] = {}
    changes: list[GitChange] = []
    untracked: list[str] = []
    submodules: dict[str, GitSubmodule] = {}
    for entry in text.decode("utf-8", "surrogateescape").split("\0"):
        kind, _, rest = entry.partition(" ")
        if kind == "#":
            key, _, value = rest.partition(" ")
            header[key] = value
        elif kind == "?":
            untracked.append(rest)
        elif kind in _FIELDS and rest.count(" ") >= _FIELDS[kind]:
            fields = rest.split(" ", _FIELDS[kind])
            change = _change(fields)
            if change.submodule:
                seen = submodules[change.path] = _submodule(fields)
            if not change.submodule or seen.moved or seen.dirty:
                changes.append(change)
    commit, branch = header.get("branch.oid"), header.get("branch.head")
    return GitStatus(
        commit=None if commit in {None, "(initial)"} else commit,
        branch=None if branch in {None, "(detached)"} else branch,
        changes=tuple(changes[:CHANGES_MAX]),
        changes_n=len(changes),
        untracked=tuple(untracked[:CHANGES_MAX]),
        untracked_n=len(untracked),
        submodules=submodules,
    )


def _change(fields: list[str]) -> GitChange:
    return GitChange(path=fields[-1], state=fields[0], submodule=fields[1].startswith("S"))


def _submodule(fields: list[str]) -> GitSubmodule:
    """``XY S<c><m><u> mH mI mW hH hI path``; what is checked out is not said."""
    recorded = fields[5]
    return GitSubmodule(
        path=fields[-1],
        commit=None if not recorded.strip(_NULL_OID) else recorded,
        checked_out=None,
        moved="C" in fields[1] or fields[5] != fields[6],
        dirty="M" in fields[1],
        untracked="U" in fields[1],
    )


def gitlinks(text: bytes) -> Iterator[tuple[str, str]]:
    """Paths of submodules and the commits that the index names."""
    for mode, name, path in _staged(text):
        if mode == _GITLINK:
            yield path, name


def symlinks(text: bytes) -> Iterator[str]:
    """Paths of symbolic links."""
    return (path for mode, _, path in _staged(text) if mode == _SYMLINK)


def _staged(text: bytes) -> Iterator[tuple[str, str, str]]:
    """Mode, object's name and path of each entry of ``git ls-files --stage -z``."""
    for entry in text.decode("utf-8", "surrogateescape").split("\0"):
        what, _, path = entry.partition("\t")
        mode, _, rest = what.partition(" ")
        yield mode, rest.partition(" ")[0], path


def unlooked(text: bytes) -> Iterator[tuple[str, bool]]:
    """Files that git takes for unchanged whatever lies there (``git ls-files -v -z``).

    Yields:
        A path, and whether its absence means nothing: a sparse checkout leaves it out.
    """
    for entry in text.decode("utf-8", "surrogateescape").split("\0"):
        tag, _, path = entry.partition(" ")
        if tag.islower() or tag == "S":
            yield path, tag in {"S", "s"}
