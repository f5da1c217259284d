"""The project's tests: the result that is kept for this commit, or one made now."""

import contextlib
import time
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Final

from pfid.adapters.suite_results import KeptResult, keep_result, recall_result, result_file
from pfid.adapters.untracked_files import untracked_files
from pfid.bootstrap.preflight.project import Project
from pfid.config.preflight.asked import Tests
from pfid.policy.launch_environ import launch_environ
from pfid.policy.masking import mask_text
from pfid.spec.ports.preflight import SuiteFacts, SuiteResult
from pfid.spec.ports.python import PythonAnswer, PythonProblem

KEPT_S: Final = 86_400.0
"""So long a green result is used again: what tests lean on changes outside of any commit too."""
_OF_ONE_JOB: Final = ("SLURM_", "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_")
"""Variables that differ from one launch to the next and mean nothing to tests."""


class TestRuns(Enum):
    """When tests may be run."""

    __test__ = False
    NEVER = "never"
    WHERE_NEEDED = "where_needed"
    ALWAYS = "always"


def suite_facts(project: Project, *, run: TestRuns = TestRuns.WHERE_NEEDED) -> SuiteFacts | None:
    """Recall the result for this commit and environment, or run the tests.

    Only a green result is used again, for the same clean commit, untracked files, interpreter,
    installed distributions, runner, arguments and variables, and for a day. A red one may be the
    accident of a moment: it is run again, and what came before is said.

    Args:
        project: whose.
        run: whether tests may be run; the spec can forbid it too.
    """
    tests = project.spec.tests
    if tests is None:
        return None
    looked = project.ask("run_tests", _asked(tests, look_only=True))
    if looked.said is None:
        return SuiteFacts(problem=looked.problem.value, detail=looked.detail)
    commit = project.clean_commit
    if not looked.said.get("installed"):
        return SuiteFacts(
            runner=False, commit=commit, detail=f"python -m pip install {tests.runner}"
        )
    file = result_file(project.state, *_meaning(project, tests, looked))
    kept = recall_result(file)
    again = run is TestRuns.ALWAYS or not _may_be_used(kept, commit)
    if not again or run is TestRuns.NEVER or not tests.run:
        return _facts(commit, kept, _said_of_kept(kept))
    made = _run(project, tests, commit)
    with contextlib.suppress(OSError):  # it is made again next time
        keep_result(file, made)
    return _facts(commit, made, _said_of_made(made, kept), kept_before=False)


def _meaning(project: Project, tests: Tests, looked: PythonAnswer) -> Iterator[str]:
    """Everything that makes it another result, but the commit."""
    yield from (str(project.folder), looked.python, looked.version, tests.runner, *tests.args)
    yield str((looked.said or {}).get("environment"))
    named = [n for n in project.environ if n.startswith("PYTEST_")]
    for name, value in launch_environ(project.environ, named).items():
        if value is not None and not name.startswith(_OF_ONE_JOB):
            yield f"{name}={value}"
    root = Path(project.git.root)
    for path in untracked_files(root, project.git.untracked) if project.git.root else ():
        with contextlib.suppress(OSError):
            found = (root / path).stat()
            yield f"{path} {found.st_size} {found.st_mtime_ns}"


def _may_be_used(kept: KeptResult | None, commit: str | None) -> bool:
    if kept is None or commit is None or kept.commit != commit:
        return False
    return _is_green(kept) and 0 <= time.time() - kept.ended_at_s <= KEPT_S


def _is_green(kept: KeptResult) -> bool:
    return kept.complete and not kept.hung and not _is_red(kept) and kept.passed > 0


def _is_red(kept: KeptResult) -> bool:
    return bool(kept.failed) or kept.red


def _said_of_kept(kept: KeptResult | None) -> str:
    return kept.said if kept is not None and _is_red(kept) else ""


def _said_of_made(made: KeptResult, before: KeptResult | None) -> str:
    """What it said if it failed; if it passed, whether it did so the last time too."""
    red = _is_red(made)
    if red or before is None or made.commit is None or before.commit != made.commit:
        return made.said if red else ""
    if not _is_red(before):
        return ""
    what = f"{before.failed} tests failed" if before.failed else "the runner ended red"
    return f"{what} the last time they were run on this very commit: flaky?"


def _facts(
    commit: str | None, result: KeptResult | None, said: str, *, kept_before: bool = True
) -> SuiteFacts:
    shown = None if result is None else _result(result, kept=kept_before)
    return SuiteFacts(commit=commit, result=shown, detail=said)


def _asked(tests: Tests, *, look_only: bool) -> dict[str, Any]:
    return {"runner": tests.runner, "args": tests.args, "look_only": look_only}


def _run(project: Project, tests: Tests, commit: str | None) -> KeptResult:
    """Run them; the result is of a commit only if the tree was clean before and is clean after."""
    ran = project.ask("run_tests", _asked(tests, look_only=False), deadline_s=tests.deadline_s)
    after = project.repository.facts()
    same = commit is not None and after.dirty is False and after.commit == commit
    said = ran.said or {}
    return KeptResult(
        commit=commit if same else None,
        ended_at_s=time.time(),
        passed=int(said.get("passed", 0)),
        failed=int(said.get("failed", 0)),
        skipped=int(said.get("skipped", 0)),
        red=bool(said.get("red")),
        complete=bool(said.get("complete")),
        hung=ran.problem is PythonProblem.HUNG,
        said=mask_text(str(said.get("said", ran.detail))),
    )


def _result(known: KeptResult, *, kept: bool) -> SuiteResult:
    return SuiteResult(
        commit=known.commit,
        passed=known.passed,
        failed=known.failed,
        skipped=known.skipped,
        red=known.red,
        complete=known.complete,
        hung=known.hung,
        kept=kept,
        age_s=time.time() - known.ended_at_s,
    )
