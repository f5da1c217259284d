"""The working tree, and which untracked files the code would import."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from pfid.adapters.untracked_files import untracked_files
from pfid.bootstrap.preflight.imports import imports_of, is_script
from pfid.bootstrap.preflight.launched_files import launched_files
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
    untracked = [path for path in untracked_files(root, git.untracked) if path.endswith(".py")]
    started = _started(project)
    if not (untracked or started or git.untracked_n > CHANGES_MAX):
        return TreeFacts(git=git)
    tracked = project.repository.tracked()
    if tracked is None:
        return TreeFacts(git=git, imported=None)
    begun, known = _names_of(started, root), set(tracked)
    launched = tuple(name for name, inner in begun.items() if not inner and name not in known)
    code = list(_code(root, tracked, tuple(begun))) if untracked else []
    if git.untracked_n > CHANGES_MAX or len(code) > FILES_MAX:
        return TreeFacts(git=git, imported=None, launched=launched)
    found = imported(root, code, [path for path in untracked if path not in launched])
    told = None if found.unclear and not found.imported else found.imported
    return TreeFacts(git=git, imported=told, launched=launched, unclear=found.unclear)


def _started(project: Project) -> tuple[Path, ...]:
    """Files that will be launched: of the command that is known, else of the smoke run's."""
    argv, cwd = project.command, project.cwd
    if not argv and (last := last_launched(project)) is not None:
        argv, cwd = last.argv, Path(last.cwd)
    return launched_files(argv, cwd)


def _names_of(started: Sequence[Path], root: Path) -> dict[str, bool]:
    """What is started, as git names it, and whether a repository within this one holds it."""
    names, top = {}, root.resolve()
    for path in started:
        real = path.parent.resolve() / path.name  # a link is tracked as itself
        name = str(real.relative_to(top)) if real.is_relative_to(top) else str(real)
        names[name] = _in_submodule(real, top)
    return names


def _in_submodule(path: Path, top: Path) -> bool:
    """Whether another repository within this one holds it: its own state is looked at apart."""
    inner = next((p for p in path.parents if (p / ".git").exists()), None)
    return inner is not None and inner != top and inner.is_relative_to(top)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of looking for imports.

    Attributes:
        imported: untracked files that code imports, or that those import in their turn.
        unclear: files of code that cannot be read, or not parsed while they name another one.
    """

    imported: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()


def imported(root: Path, code: Iterable[str], untracked: Sequence[str]) -> Found:
    """Look for untracked files that the code imports.

    An import counts if its last names are those of the file: `train.masks`, `from train import
    masks` and `import masks` all mean ``train/masks.py``. A name that two files bear counts for
    both.
    """
    open_files, found = list(untracked), list[str]()
    last = {path: _parts(path)[-1] for path in untracked}
    doubts: dict[str, frozenset[str] | None] = {}
    code = list(code)
    while code and open_files:
        read = {path: imports_of(root / path, last.values()) for path in code}
        doubts.update((path, imports.words) for path, imports in read.items())
        names = {name for imports in read.values() for name in imports.names}
        code = [path for path in open_files if _module(path) & names]
        open_files = [path for path in open_files if path not in code]
        found += code
    left = {last[path] for path in open_files}
    unclear = (path for path, words in doubts.items() if left and (words is None or words & left))
    return Found(imported=tuple(sorted(found)), unclear=tuple(sorted(unclear)))


def _code(root: Path, tracked: Sequence[str], started: Sequence[str]) -> Iterator[str]:
    """Files that hold Python: by their name, or by what stands in them where it has no ending."""
    for path in dict.fromkeys((*tracked, *started)):
        name = PurePosixPath(path).name
        notebook = path in started and name.endswith(".ipynb")
        if name.endswith(".py") or notebook or ("." not in name and is_script(root / path)):
            yield path


def _module(path: str) -> set[str]:
    """Every dotted name a file can be imported by, from any folder above it."""
    parts = _parts(path)
    return {".".join(parts[i:]) for i in range(len(parts))}


def _parts(path: str) -> tuple[str, ...]:
    parts = PurePosixPath(path).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" and parts[1:] else parts
