"""Deliberate breaks of a project in a scratch worktree, and whether its own tests notice.

The user's tree, index and branches are never touched: the worktree is a plain copy of the commit,
made with ``git archive``, and no worktree of the repository is registered.
"""

import ast
import io
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

from pfid.adapters.bounded_process import CannotStartError, found_program, run_bounded
from pfid.bootstrap.preflight.project import Project
from pfid.config.preflight import Mutation, Tests
from pfid.domain.errors import PfidError
from pfid.spec.ports.python import PythonAnswer

ARCHIVE_MAX_BYTES: Final = 1 << 30
ARCHIVE_S: Final = 120.0


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
    """
    mutations = project.spec.mutations
    if not mutations:
        return ()
    archive = _archive(project)
    inside = project.folder.relative_to(Path(project.git.root).resolve())
    results: list[MutantResult] = []
    sound: dict[str, str] = {}
    for mutation in mutations:
        with tempfile.TemporaryDirectory(prefix="pfid-mutate-") as scratch:
            _unpack(archive, Path(scratch))
            folder = Path(scratch) / inside
            results.append(_tried(project, mutation, folder, sound))
            told(f"{results[-1].name}: {results[-1].came.value} {results[-1].why}".rstrip())
    return tuple(results)


def _archive(project: Project) -> bytes:
    git = project.git
    if git.problem.value or git.commit is None:
        raise NoScratchError(f"no commit to break: {git.problem.value or 'no_commit'} {git.detail}")
    program = found_program("git", project.environ, str(project.folder))
    if program is None:
        raise NoScratchError("git is not installed")
    try:
        done = run_bounded(
            [program, "-C", git.root, "archive", "--format=tar", git.commit],
            project.environ,
            deadline_s=ARCHIVE_S,
            out_max_bytes=ARCHIVE_MAX_BYTES,
        )
    except CannotStartError as error:
        raise NoScratchError(str(error)) from error
    if done.exit_code != 0 or done.overflowed:
        raise NoScratchError(f"the commit cannot be copied: {done.last_line() or 'too large'}")
    return done.out


def _unpack(archive: bytes, scratch: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(scratch, filter="data")


def _tried(
    project: Project, mutation: Mutation, folder: Path, sound: dict[str, str]
) -> MutantResult:
    """Break and test; a test that does not pass unbroken shows nothing."""

    def came(what: MutantCame, why: str = "") -> MutantResult:
        name = mutation.name or f"{mutation.file}: {mutation.old.strip().splitlines()[0][:40]}"
        return MutantResult(name=name, file=mutation.file, test=mutation.test, came=what, why=why)

    why = _break(folder, mutation, undo=None)
    if isinstance(why, str):
        return came(MutantCame.NOT_TRIED, why)
    if mutation.test not in sound:
        _break(folder, mutation, undo=why)
        sound[mutation.test] = _why_not_green(_test(project, mutation.test, folder))
        _break(folder, mutation, undo=None)
    if sound[mutation.test]:
        return came(
            MutantCame.NOT_TRIED, f"the test does not pass unbroken: {sound[mutation.test]}"
        )
    ran = _test(project, mutation.test, folder)
    if ran.said is None:
        return came(MutantCame.NOT_TRIED, ran.problem.value)
    if ran.said["failed"]:
        return came(MutantCame.CAUGHT)
    if ran.said["passed"] and ran.said["complete"]:
        return came(MutantCame.SURVIVED, "the test passes all the same")
    return came(MutantCame.NOT_TRIED, "with the break no test ran: it broke more than it should")


def _break(folder: Path, mutation: Mutation, *, undo: bytes | None) -> bytes | str:
    """Replace the text, or put the old content back; a text says why it cannot be done."""
    path = folder / mutation.file
    if not path.resolve().is_relative_to(folder.resolve()):
        return "the file lies outside of the project"
    try:
        before = path.read_bytes()
        if undo is not None:
            path.write_bytes(undo)
            return before
        count = before.count(mutation.old.encode())
        if count != 1:
            return f"its text stands {count} times in the file of the commit, not once"
        after = before.replace(mutation.old.encode(), mutation.new.encode())
        if path.suffix == ".py" and not _is_code(after):
            return "with the break the file is no Python: that shows nothing of a test"
        path.write_bytes(after)
    except OSError as error:
        return f"{mutation.file}: {error.strerror}"
    return before


def _is_code(text: bytes) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _test(project: Project, test: str, folder: Path) -> PythonAnswer:
    tests = project.spec.tests or Tests()
    asked: dict[str, Any] = {
        "folder": str(folder),
        "runner": tests.runner,
        "args": [test],
        "look_only": False,
    }
    return project.ask_at(folder, "run_tests", asked, deadline_s=tests.deadline_s)


def _why_not_green(ran: PythonAnswer) -> str:
    if ran.said is None:
        return ran.problem.value
    if not ran.said["installed"]:
        return "the runner is not installed"
    if ran.said["failed"]:
        return f"{ran.said['failed']} failed"
    return "" if ran.said["passed"] and ran.said["complete"] else "no test ran"
