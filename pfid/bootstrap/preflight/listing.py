"""What git lists in a repository and in every submodule that is checked out in it.

Each submodule is a repository of its own, with files that it does not track or ignores: the outer
one's lists end at its folder.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pfid.adapters.git_repository import GitRepository

DEPTH_MAX: Final = 8
"""Submodules of submodules are followed so deep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Paths from the root of the outermost repository; a folder of files ends with a slash.

    Attributes:
        tracked: files, and submodules that are not checked out.
        links: tracked symbolic links.
        ignored: what git is told to ignore.
        untracked: what is neither.
    """

    tracked: tuple[str, ...]
    links: tuple[str, ...]
    ignored: tuple[str, ...]
    untracked: tuple[str, ...]


def listed(root: Path, environ: Mapping[str, str]) -> Listing | None:
    """List it all; None if git cannot tell a part of it."""
    parts = list(_parts(root, "", environ, DEPTH_MAX))
    whole = [part for part in parts if part is not None]
    if len(whole) < len(parts):
        return None
    return Listing(
        tracked=tuple(path for part in whole for path in part.tracked),
        links=tuple(path for part in whole for path in part.links),
        ignored=tuple(path for part in whole for path in part.ignored),
        untracked=tuple(path for part in whole for path in part.untracked),
    )


def _parts(
    root: Path, prefix: str, environ: Mapping[str, str], depth: int
) -> Iterator[Listing | None]:
    repository = GitRepository(str(root / prefix), environ)
    tracked, links, inner = repository.tracked(), repository.links(), repository.submodules()
    ignored, untracked = repository.ignored(), repository.untracked()
    if tracked is None or links is None or inner is None or ignored is None or untracked is None:
        yield None
        return
    here = {path for path in inner if depth and (root / prefix / path / ".git").exists()}
    yield Listing(
        tracked=tuple(prefix + path for path in tracked if path not in here),
        links=tuple(prefix + path for path in links),
        ignored=tuple(prefix + path for path in ignored),
        untracked=tuple(prefix + path for path in untracked),
    )
    for path in sorted(here):
        yield from _parts(root, f"{prefix}{path}/", environ, depth - 1)
