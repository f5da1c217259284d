"""Deliberate breaks of a project in a scratch worktree, and whether its own tests notice.

The user's tree, index and branches are never touched: the worktree is a plain copy of the commit,
made through an index of its own, and no worktree of the repository is registered. It holds what
an archive would leave out (``export-ignore``): that is often the tests.
"""

import ast
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

from pfid.adapters.git_command import GitCommand, GitGaveUpError
from pfid.adapters.python_introspection import PROBES
from pfid.bootstrap.preflight.project import Project
from pfid.config.preflight.asked import Tests
from pfid.config.preflight.source import Mutation
from pfid.domain.errors import ConfigError, PfidError
from pfid.spec.ports.python import PythonAnswer

COPY_MAX_BYTES: Final = 1 << 30
COPY_S: Final = 120.0
SITE: Final = PROBES / "scratch_site"
FIRST_FAILURE: Final = {"pytest": "-x", "unittest": "-f"}
"""One failure shows that a break was noticed."""


class NoScratchError(PfidError):
    """There is no commit to break, or it cannot be copied."""


class MutantCame(Enum):
    """What came of one break."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    NOT_TRIED = "not_tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantResult:
    """One break.

    Attributes:
        name: what was broken.
        file: where.
        test: that should have noticed.
        came: what came of it.
        why: for its owner.
    """

    name: str
    file: str
    test: str
    came: MutantCame
    why: str = ""


def mutate_project(project: Project, told: Callable[[str], None]) -> tuple[MutantResult, ...]:
    """Try every break that the spec lists, one after the other.

    Raises:
        NoScratchError: if there is nothing that can be broken.
        ConfigError: if the spec lists no break.
    """
    mutations = project.spec.mutations
    if not mutations:
        raise ConfigError(("the spec lists no [[mutations]]: nothing was broken",))
    inside = project.folder.resolve().relative_to(Path(project.git.root).resolve())
    results: list[MutantResult] = []
    with tempfile.TemporaryDirectory(prefix="pfid-mutate-") as place:
        scratch = os.path.realpath(Path(place) / "tree")
        _copy_commit(project, Path(scratch))
        tried = _Scratch(project, Path(scratch), Path(scratch) / inside)
        tried.look_at(dict.fromkeys(m.test for m in mutations))
        for mutation in mutations:
            results.append(tried.result(mutation))
            told(f"{results[-1].name}: {results[-1].came.value} {results[-1].why}".rstrip())
    return tuple(results)


def _copy_commit(project: Project, scratch: Path) -> None:
    """Write every file of the commit; links that lead out of the project are the project's own."""
    git = project.git
    if git.problem.value or git.commit is None:
        raise NoScratchError(f"no commit to break: {git.problem.value or 'no_commit'} {git.detail}")
    command, index = GitCommand(git.root, project.environ), str(scratch.parent / "index")
    command.begin(COPY_S)
    try:
        if _size_bytes(command.run("ls-tree", "-r", "-l", "-z", git.commit)) > COPY_MAX_BYTES:
            raise NoScratchError("the commit cannot be copied: too large")
        command.run("read-tree", "--no-sparse-checkout", git.commit, index=index)
        command.run("checkout-index", "--all", f"--prefix={scratch}/", index=index)
    except GitGaveUpError as error:
        why = error.detail or error.problem.value
        raise NoScratchError(f"the commit cannot be copied: {why}") from error


def _size_bytes(listed: bytes) -> int:
    """Of all files: ``MODE KIND NAME SIZE<tab>PATH``; a submodule has none."""
    heads = (entry.partition(b"\t")[0].split() for entry in listed.split(b"\0"))
    return sum(int(head[3]) for head in heads if len(head) > 3 and head[3].isdigit())


class _Scratch:
    """The copy in which one break after the other is made, tried and taken back."""

    def __init__(self, project: Project, root: Path, folder: Path) -> None:
        self._project = project
        self._root = root
        self._folder = folder
        self._marks = root.parent / "marks"
        self._sound: dict[str, str] = {}
        self._touches = 0
        self._runner = (project.spec.tests or Tests()).runner

    def look_at(self, tests: Iterable[str]) -> None:
        """Run the tests unbroken: all at once if that is green, else each by itself.

        A test that does not pass unbroken shows nothing.
        """
        every = list(tests)
        if not _why_not_green(self._test(every)):
            self._sound = dict.fromkeys(every, "")
            return
        self._sound = {test: _why_not_green(self._test([test])) for test in every}

    def result(self, mutation: Mutation) -> MutantResult:
        """Break, test and mend."""
        came, why = self._came(mutation)
        line = mutation.old.strip().splitlines()[0][:40] if mutation.old.strip() else "blank"
        return MutantResult(
            name=mutation.name or f"{mutation.file}: {line}",
            file=mutation.file,
            test=mutation.test,
            came=came,
            why=why,
        )

    def _came(self, mutation: Mutation) -> tuple[MutantCame, str]:
        path = self._folder / mutation.file
        if not path.resolve().is_relative_to(self._folder.resolve()):
            return MutantCame.NOT_TRIED, "the file lies outside of the project"
        try:
            before = path.read_bytes()
            after, why = _broken(before, mutation)
            if why:
                return MutantCame.NOT_TRIED, why
            if self._sound[mutation.test]:
                why = f"the test does not pass unbroken: {self._sound[mutation.test]}"
                return MutantCame.NOT_TRIED, why
            self._write(path, after)
            self._marks.unlink(missing_ok=True)
            try:
                ran = self._test([mutation.test, FIRST_FAILURE[self._runner]], path)
                return _read(ran, _loaded(self._marks, path))
            finally:
                self._write(path, before)
        except OSError as error:
            return MutantCame.NOT_TRIED, f"{mutation.file}: {error.strerror}"

    def _write(self, path: Path, body: bytes) -> None:
        """Each time with a date of its own: bytecode is told apart by seconds."""
        path.write_bytes(body)
        self._touches += 10
        at_s = path.stat().st_mtime + self._touches
        os.utime(path, (at_s, at_s))

    def _test(self, tests: Sequence[str], watched: Path | None = None) -> PythonAnswer:
        how = self._project.spec.tests or Tests()
        asked: dict[str, Any] = {
            "runner": how.runner,
            "args": list(tests),
            "look_only": False,
            "bytecode": True,
        }
        return self._project.ask_at(
            self._folder,
            "run_tests",
            asked,
            deadline_s=how.deadline_s,
            more=self._environ(watched),
        )

    def _environ(self, watched: Path | None) -> dict[str, str]:
        """Every Python of the tests loads from the copy what it would load from the user's tree."""
        tree = os.path.realpath(self._project.git.root)
        given = self._project.environ.get("PYTHONPATH", "").split(os.pathsep)
        moved = [self._in_copy(entry, tree) for entry in given if entry]
        return {
            "PYTHONPATH": os.pathsep.join((str(SITE), *moved)),
            "PFID_SCRATCH_OF": tree,
            "PFID_SCRATCH": str(self._root),
            "PFID_SCRATCH_WATCHED": "" if watched is None else str(watched.resolve()),
            "PFID_SCRATCH_MARKS": str(self._marks),
        }

    def _in_copy(self, entry: str, tree: str) -> str:
        real = Path(os.path.realpath(self._project.folder / entry))
        copy = self._root / real.relative_to(tree) if real.is_relative_to(tree) else real
        return str(copy) if copy.exists() else entry


def _loaded(marks: Path, path: Path) -> str:
    """Return what happened in the place of loading the broken file; "" if it was run or read.

    What is no Python may be read by any program: nothing is known of that.
    """
    if path.suffix != ".py":
        return ""
    try:
        said = marks.read_text(errors="replace").splitlines()
    except OSError:
        said = []
    if "own" in said:
        return ""
    others = [line.removeprefix("other ") for line in said]
    return f"it loads {others[0]} in its place" if others else f"it never loads {path.name}"


def _read(ran: PythonAnswer, unloaded: str) -> tuple[MutantCame, str]:
    """What a run of the test on the break shows, and whether it loaded the broken file at all."""
    if ran.said is None:
        return MutantCame.NOT_TRIED, ran.problem.value
    noticed = ran.said["failed"] or ran.said.get("red")
    if unloaded and (noticed or " in its place" in unloaded):
        return MutantCame.NOT_TRIED, f"the test does not look at the broken file: {unloaded}"
    if noticed:
        return MutantCame.CAUGHT, ""
    if ran.said["passed"] and ran.said["complete"]:
        return MutantCame.SURVIVED, unloaded or "the test passes all the same"
    return MutantCame.NOT_TRIED, "with the break no test ran: it broke more than it should"


def _broken(before: bytes, mutation: Mutation) -> tuple[bytes, str]:
    """The file with its break, or why it cannot be made."""
    count = before.count(mutation.old.encode())
    if count != 1:
        return before, f"its text stands {count} times in the file of the commit, not once"
    after = before.replace(mutation.old.encode(), mutation.new.encode())
    if mutation.file.endswith(".py") and not _is_code(after):
        return before, "with the break the file is no Python: that shows nothing of a test"
    return after, ""


def _is_code(text: bytes) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _why_not_green(ran: PythonAnswer) -> str:
    if ran.said is None:
        return ran.problem.value
    if not ran.said["installed"]:
        return "the runner is not installed"
    if ran.said["failed"]:
        return f"{ran.said['failed']} failed"
    if ran.said.get("red"):
        return "no test failed and the runner ends red: a coverage gate, a hook at its end"
    return "" if ran.said["passed"] and ran.said["complete"] else "no test ran"
