"""The working tree, and which untracked files the code would import."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from pfid.adapters.untracked_files import untracked_files
from pfid.bootstrap.preflight.hidden_code import (
    folders_of,
    imported_from,
    leading_out,
    places_of_code,
    repositories_within,
)
from pfid.bootstrap.preflight.imports import (
    COMPILED,
    MODULES,
    Imports,
    imports_of,
    is_script,
    module_parts,
)
from pfid.bootstrap.preflight.launched_files import launched_files
from pfid.bootstrap.preflight.listing import listed
from pfid.bootstrap.preflight.manifest import last_launched
from pfid.bootstrap.preflight.project import Project
from pfid.spec.ports.git import CHANGES_MAX
from pfid.spec.ports.preflight import TreeFacts

FILES_MAX: Final = 20_000


def tree_facts(project: Project) -> TreeFacts:
    """Look at the tree."""
    git = project.git
    if git.problem.value or not git.root:
        return TreeFacts(git=git)
    root = Path(git.root)
    lists = listed(root, project.environ)
    if lists is None:
        return TreeFacts(git=git, imported=None)
    begun, known = _names_of(_started(project), root), set(lists.tracked)
    launched = tuple(name for name in begun if name not in known)
    untracked = [path for path in untracked_files(root, lists.untracked) if path.endswith(MODULES)]
    inner = repositories_within(root, lists.untracked)
    outside = places_of_code(root, (*leading_out(root, lists.links, known), *inner))
    hidden = places_of_code(root, lists.ignored)
    looks = bool(untracked or outside or hidden)
    code = list(_code(root, lists.tracked, begun)) if looks else []
    if len(lists.untracked) > CHANGES_MAX or len(code) > FILES_MAX:
        return TreeFacts(git=git, imported=None, launched=launched)
    beside = [path for path in untracked if path not in launched]
    found = imported(root, code, beside, to_the_end=bool(outside or hidden))
    begins = folders_of(code)
    behind = imported_from(root, outside, found.names, begins)
    reached = _unrecorded(project, root, imported_from(root, hidden, found.names, begins))
    seen = tuple(sorted({*found.imported, *behind}))
    return TreeFacts(
        git=git,
        imported=None if found.unclear and not seen else seen,
        launched=launched,
        ignored=tuple(path for path in reached if path not in launched),
        unclear=found.unclear,
    )


def _unrecorded(project: Project, root: Path, files: Iterable[str]) -> Iterator[str]:
    """Those whose content no manifest will name."""
    spoken = project.spec.provenance
    paths = () if spoken is None else (*spoken.config, *spoken.datasets, *spoken.auxiliary)
    recorded = [Path(os.path.realpath(project.path(path))) for path in paths]
    for file in files:
        real = Path(os.path.realpath(root / file))
        if not any(real.is_relative_to(path) for path in recorded):
            yield file


def _started(project: Project) -> tuple[Path, ...]:
    """Files that will be launched: of the command that is known, else of the smoke run's."""
    argv, cwd = project.command, project.cwd
    if not argv and (last := last_launched(project)) is not None:
        argv, cwd = last.argv, Path(last.cwd)
    return launched_files(argv, cwd)


def _names_of(started: Sequence[Path], root: Path) -> tuple[str, ...]:
    """What is started, as git names it."""
    names, top = list[str](), root.resolve()
    for path in started:
        itself = path.parent.resolve() / path.name  # a link is tracked as itself
        for real in dict.fromkeys((itself, Path(os.path.realpath(path)))):  # what it leads to, runs
            names.append(str(real.relative_to(top)) if real.is_relative_to(top) else str(real))
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of looking for imports.

    Attributes:
        imported: untracked files that code imports, or that those import in their turn.
        unclear: files of code that cannot be read, or not parsed while they name another one.
        names: every dotted name that the code imports, as far as it was read.
    """

    imported: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


def imported(
    root: Path, code: Iterable[str], untracked: Sequence[str], *, to_the_end: bool = False
) -> Found:
    """Look for untracked files that the code imports.

    An import counts if its last names are those of the file: `train.masks`, `from train import
    masks` and `import masks` all mean ``train/masks.py``. A name that two files bear counts for
    both.

    Args:
        root: of the repository.
        code: files that hold it.
        untracked: files it may import.
        to_the_end: whether all of it is read even if no file is left that it may import.
    """
    open_files, found = list(untracked), list[str]()
    last = {path: module_parts(path)[-1] for path in untracked}
    doubts: dict[str, frozenset[str] | None] = {}
    code, every = list(code), set[str]()
    while code and (open_files or to_the_end):
        code = [path for path in code if not path.endswith(COMPILED)]
        read = {path: _imports(root, path, last.values()) for path in code}
        doubts.update((path, imports.words) for path, imports in read.items())
        names = {name for imports in read.values() for name in imports.names}
        every |= names
        code = [path for path in open_files if _module(path) & names]
        open_files = [path for path in open_files if path not in code]
        found += code
    left = {last[path] for path in open_files}
    unclear = (path for path, words in doubts.items() if left and (words is None or words & left))
    return Found(
        imported=tuple(sorted(found)), unclear=tuple(sorted(unclear)), names=frozenset(every)
    )


def _imports(root: Path, path: str, among: Collection[str]) -> Imports:
    return imports_of(root / path, among, PurePosixPath(path).parent.parts)


def _code(root: Path, tracked: Sequence[str], started: Sequence[str]) -> Iterator[str]:
    """Files that hold Python: by their name, or by what stands in them where it has no ending."""
    for path in dict.fromkeys((*tracked, *started)):
        name = PurePosixPath(path).name
        notebook = path in started and name.endswith(".ipynb")
        if name.endswith(".py") or notebook or ("." not in name and is_script(root / path)):
            yield path


def _module(path: str) -> set[str]:
    """Every dotted name a file can be imported by, from any folder above it."""
    parts = module_parts(path)
    return {".".join(parts[i:]) for i in range(len(parts))}
