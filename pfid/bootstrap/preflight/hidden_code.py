"""Code of a project that neither its commits nor git's list of untracked files hold.

Files that git ignores, what lies behind links that lead out of the commit, and repositories within
this one that are none of its submodules: git tells them by their folder alone. Folders
of them may hold anything (an environment, a data set of a million files), so none is searched: an
import says where its file would lie, and it is looked whether it does.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

from pfid.adapters.untracked_files import LEFT_OUT
from pfid.bootstrap.preflight.imports import COMPILED, MODULES, module_parts

ENTRIES_MAX: Final = 20_000
"""So many entries of a folder are looked through for any code at all; of more, it may hold some."""
_ENVIRONMENT: Final = ("pyvenv.cfg", "conda-meta")


def places_of_code(root: Path, entries: Iterable[str]) -> list[str]:
    """Those of git's entries (a folder ends with a slash) that are code, or folders that may be."""
    return [entry for entry in entries if _may_be_code(root, entry)]


def repositories_within(root: Path, untracked: Iterable[str]) -> list[str]:
    """Those of git's untracked entries that are repositories of their own."""
    return [e for e in untracked if e.endswith("/") and (root / e / ".git").exists()]


def leading_out(root: Path, links: Iterable[str], tracked: Collection[str]) -> list[str]:
    """Links of the commit to what no commit of it holds, as entries."""
    top = root.resolve()
    folders = folders_of(tracked)
    found = []
    for link in links:
        target = Path(os.path.realpath(root / link))  # a link that leads to itself is its own end
        if not _is_committed(target, top, tracked, folders):
            found.append(f"{link}/" if target.is_dir() else link)
    return found


def _is_committed(
    target: Path, top: Path, tracked: Collection[str], folders: Collection[str]
) -> bool:
    if not target.is_relative_to(top):
        return False
    inside = target.relative_to(top)
    if str(inside) in tracked or str(inside) in folders:
        return True
    return any(str(above) in tracked for above in inside.parents)  # a submodule is


def folders_of(code: Iterable[str]) -> frozenset[str]:
    """Every folder above these files: where an import may begin. The root is ""."""
    above = (str(parent) for path in code for parent in PurePosixPath(path).parents)
    return frozenset({"" if folder == "." else folder for folder in above} | {""})


def imported_from(
    root: Path, places: Iterable[str], names: Collection[str], begins: Collection[str]
) -> tuple[str, ...]:
    """Files of these places that code imports.

    Args:
        root: of the repository.
        places: files, and folders with a slash at their end.
        names: dotted names that code imports.
        begins: folders in which an import's first name may lie.
    """
    found = (file for place in places for file in _imported(root, place, names, begins))
    return tuple(sorted(set(found)))


def _imported(
    root: Path, place: str, names: Collection[str], begins: Collection[str]
) -> Iterator[str]:
    folder = PurePosixPath(place.rstrip("/"))
    begin = "" if str(folder.parent) == "." else str(folder.parent)
    if place.endswith("/"):
        for name in names:
            if name.partition(".")[0] == folder.name and begin in begins:
                at = folder.parent / name.replace(".", "/")
                files = (f"{at}.py", f"{at}/__init__.py")
                yield from (file for file in files if (root / file).is_file())
                yield from _compiled(root, at)
        return
    parts = module_parts(place)
    for i in range(len(parts)):
        if ".".join(parts[i:]) in names and "/".join(parts[:i]) in begins:
            yield place
            return


def _compiled(root: Path, module: PurePosixPath) -> Iterator[str]:
    """Files of a compiled module, as far as its folder is looked through."""
    try:
        with os.scandir(root / module.parent) as entries:
            for entry in islice(entries, ENTRIES_MAX):
                head, _, _ = entry.name.partition(".")
                if head == module.name and entry.name.endswith(COMPILED):
                    yield str(module.parent / entry.name)
    except OSError:
        return


def _may_be_code(root: Path, entry: str) -> bool:
    if not entry.endswith("/"):
        return entry.endswith(MODULES)
    folder = root / entry
    name = folder.name
    if not name.isidentifier() or name in LEFT_OUT:
        return False
    if any((folder / mark).exists() for mark in _ENVIRONMENT):
        return False
    looked_at = list(islice(_entries(folder), ENTRIES_MAX))
    return len(looked_at) == ENTRIES_MAX or any(name.endswith(MODULES) for name in looked_at)


def _entries(folder: Path) -> Iterator[str]:
    for _, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if each.isidentifier() and each not in LEFT_OUT]
        yield from folders
        yield from files
