"""The working tree, and which untracked files tracked code would import."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from pfid.adapters.untracked_files import untracked_files
from pfid.bootstrap.preflight.launched_files import launched_files
from pfid.bootstrap.preflight.manifest import last_launched
from pfid.bootstrap.preflight.project import Project
from pfid.spec.ports.git import CHANGES_MAX
from pfid.spec.ports.preflight import TreeFacts

FILES_MAX: Final = 20_000
FILE_MAX_BYTES: Final = 2_000_000


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
    launched = tuple(_untracked_of(started, root, tracked))
    code = [*(path for path in tracked if path.endswith(".py")), *launched]
    if git.untracked_n > CHANGES_MAX or len(code) > FILES_MAX:
        return TreeFacts(git=git, imported=None, launched=launched)
    others = [path for path in untracked if path not in launched]
    return TreeFacts(git=git, imported=imported(root, code, others), launched=launched)


def _started(project: Project) -> tuple[Path, ...]:
    """Files that will be launched: of the command that is known, else of the smoke run's."""
    argv, cwd = project.command, project.cwd
    if not argv and (last := last_launched(project)) is not None:
        argv, cwd = last.argv, Path(last.cwd)
    return launched_files(argv, cwd)


def _untracked_of(started: Sequence[Path], root: Path, tracked: Sequence[str]) -> Iterator[str]:
    """Those that no commit of this repository holds: ignored ones and such outside of it too."""
    known, top = set(tracked), root.resolve()
    for path in started:
        real = path.parent.resolve() / path.name  # a link is tracked as itself
        name = str(real.relative_to(top)) if real.is_relative_to(top) else str(real)
        if name not in known and not _in_submodule(real, top):
            yield name


def _in_submodule(path: Path, top: Path) -> bool:
    """Whether another repository within this one holds it: its own state is looked at apart."""
    inner = next((p for p in path.parents if (p / ".git").exists()), None)
    return inner is not None and inner != top and inner.is_relative_to(top)


def imported(root: Path, tracked: Sequence[str], untracked: Sequence[str]) -> tuple[str, ...]:
    """Untracked files that tracked code imports, or that those import in their turn.

    An import counts if its last names are those of the file: `train.masks`, `from train import
    masks` and `import masks` all mean ``train/masks.py``. A name that two files bear counts for
    both.
    """
    open_files = list(untracked)
    code, found = list(tracked), []
    while code:
        names = {name for path in code for name in _imports(root / path)}
        code = [path for path in open_files if _module(path) & names]
        open_files = [path for path in open_files if path not in code]
        found += code
    return tuple(sorted(found))


def _module(path: str) -> set[str]:
    """Every dotted name a file can be imported by, from any folder above it."""
    parts = PurePosixPath(path).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return {".".join(parts[i:]) for i in range(len(parts))}


def _imports(path: Path) -> Iterator[str]:
    """Dotted names that a file imports, each with every beginning cut off or added to it."""
    try:
        if path.stat().st_size > FILE_MAX_BYTES:
            return
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_parents(alias.name)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                base = f"{node.module}." if node.module else ""
                yield from _with_parents(f"{base}{alias.name}")


def _with_parents(name: str) -> Iterator[str]:
    """`a.b.c` imports a and a.b as well."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        yield ".".join(parts[:end])
