"""The project's tests: the result that is kept for this commit, or one made now."""

import contextlib
import time
from typing import Any

from pfid.adapters.suite_results import KeptResult, keep_result, recall_result, result_file
from pfid.bootstrap.preflight.project import Project
from pfid.config.preflight.asked import Tests
from pfid.spec.ports.preflight import SuiteFacts, SuiteResult
from pfid.spec.ports.python import PythonProblem


def suite_facts(project: Project, *, run: bool = True) -> SuiteFacts | None:
    """Recall the result for this commit and interpreter, or run the tests.

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
    meaning = (str(project.folder), looked.python, looked.version, tests.runner, *tests.args)
    file = result_file(project.state, *meaning)
    kept = recall_result(file)
    wanted = kept is None or kept.commit is None or kept.commit != commit
    if wanted and run and tests.run:
        kept = _run(project, tests, commit)
        with contextlib.suppress(OSError):  # it is made again next time
            keep_result(file, kept)
    if kept is None:
        return SuiteFacts(commit=commit)
    return SuiteFacts(commit=commit, result=_result(kept), detail=kept.said if kept.failed else "")


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
        complete=bool(said.get("complete")),
        hung=ran.problem is PythonProblem.HUNG,
        said=str(said.get("said", ran.detail)),
    )


def _result(kept: KeptResult) -> SuiteResult:
    return SuiteResult(
        commit=kept.commit,
        passed=kept.passed,
        failed=kept.failed,
        skipped=kept.skipped,
        complete=kept.complete,
        hung=kept.hung,
        age_s=time.time() - kept.ended_at_s,
    )
