"""Fail when the project's own tests have not passed on the very commit that would be launched.

An instrument nobody runs is not an instrument (playbook 4.6): a suite stood at four failures for
weeks because its runner was not installed where the training runs. So the runner is asked for in
the training interpreter, and a result counts for one commit and one environment. No test ran is
not green; a result of another commit, or of a tree that was not clean, says nothing. A green result
is used again for a day and says so with its age (`--fresh` runs the tests all the same); a red one
is run again at each look, because it may be the accident of a moment.

Blind spot: tests that pass because they assert nothing. `pfid preflight mutate` breaks the code on
purpose and looks whether they notice.

When it fires: install the runner in the training environment; repair stale tests to what the code
promises now rather than deleting them; commit, and let `pfid preflight` run them again.

If it says `not_finished`, `tests_hung`: run the command of the spec by hand, and see where it
stands; more time is `deadline_s` of `[tests]`.

If it says `no_result`, `result_stale`, `result_old`: let `pfid preflight` run them (`--fresh`).

If it says `result_not_bound`, `commit_unknown`: commit first: a result is of a commit.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pfid.spec import (
    Answers,
    AnyCheck,
    Check,
    Control,
    Outcome,
    Scope,
    Severity,
    Stage,
    Verdict,
    World,
    hookimpl,
    limit,
    reported,
)
from pfid.spec.fakes_facts import project_world
from pfid.spec.fakes_launch import CONTROL_COMMIT
from pfid.spec.ports.preflight import SuiteFacts, SuiteResult
from pfid.spec.python_answers import PYTHON_ANSWERS, python_controls

ANSWERS: Final = Answers(
    {
        "green": (Outcome.PASS, "the project's tests pass on this commit"),
        "green_kept": (
            Outcome.PASS,
            "the project's tests passed on this commit, in this environment, at an earlier look",
        ),
        "tests_failed": (Outcome.FAIL, "tests of the project fail"),
        "ended_red": (
            Outcome.FAIL,
            "no test failed and yet the runner ends red: a coverage gate, a hook at its end",
        ),
        "no_test_ran": (Outcome.FAIL, "the runner ran no test: that is not green"),
        "runner_missing": (
            Outcome.FAIL,
            "the test runner is not installed in the training environment",
        ),
        "not_finished": (Outcome.UNKNOWN, "the runner did not come to its end"),
        "tests_hung": (Outcome.UNKNOWN, "the tests were ended for their time"),
        "no_result": (Outcome.UNKNOWN, "the tests have not been run"),
        "result_not_bound": (
            Outcome.UNKNOWN,
            "the tests ran on a tree that was not clean: that result is of no commit",
        ),
        "result_stale": (Outcome.UNKNOWN, "the result is of another commit"),
        "result_old": (Outcome.UNKNOWN, "the result is too old"),
        "commit_unknown": (
            Outcome.UNKNOWN,
            "nothing names the code that would run, so no result is of it",
        ),
        "not_configured": (Outcome.NOT_APPLICABLE, "the spec names no tests"),
        **PYTHON_ANSWERS,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long a result is believed.

    Attributes:
        age_s: seconds since the tests ended; libraries change under the same commit.
    """

    age_s: float = limit(7 * 86_400.0, unit="s", factor=1.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was looked at."""

    configured: bool
    problem: str
    runner: bool
    ran: bool
    bound: bool
    same_commit: bool
    commit_known: bool
    complete: bool
    hung: bool
    passed: int
    failed: int
    red: bool
    kept: bool
    age_s: float
    skipped: int = reported(default=0)
    said: str = reported(default="")


def observe(world: World) -> Seen:
    """Read the facts; never decide."""
    facts = world.suite.facts()
    known = facts or SuiteFacts()
    result = known.result or SuiteResult(commit=None)
    return Seen(
        configured=facts is not None,
        problem=known.problem,
        runner=known.runner,
        ran=known.result is not None,
        bound=result.commit is not None,
        same_commit=result.commit == known.commit,
        commit_known=known.commit is not None,
        complete=result.complete,
        hung=result.hung,
        passed=result.passed,
        failed=result.failed,
        red=result.red,
        kept=result.kept,
        age_s=result.age_s,
        skipped=result.skipped,
        said=known.detail,
    )


def judge(seen: Seen, limits: Limits) -> Verdict:
    """Decide, purely."""
    code = _code(seen, limits)
    figures = {
        "passed": (seen.passed, "1"),
        "failed": (seen.failed, "1"),
        "skipped": (seen.skipped, "1"),
        "age": (seen.age_s, "s"),
    }
    shown = figures if seen.ran else {}
    return ANSWERS.say(code, figures=shown, evidence=(seen.said,) if seen.said else ())


def controls(limits: Limits) -> Iterable[Control]:
    """Healthy first, then every way not to be."""
    old = _result(age_s=limits.age_s * 1.05)
    for name, code, facts in (
        ("green", "green", _facts(_result())),
        ("green, some left out", "green", _facts(_result(skipped=3))),
        ("green before", "green_kept", _facts(_result(kept=True))),
        ("almost too old", "green", _facts(_result(age_s=limits.age_s * 0.95))),
        ("not configured", "not_configured", None),
        ("one fails", "tests_failed", _facts(_result(failed=1))),
        ("fails, and was cut off", "tests_failed", _facts(_result(failed=1, hung=True))),
        ("none fails, and red", "ended_red", _facts(_result(red=True))),
        ("none ran", "no_test_ran", _facts(_result(passed=0))),
        ("all left out", "no_test_ran", _facts(_result(passed=0, skipped=9))),
        ("no runner", "runner_missing", _facts(_result(), runner=False)),
        ("broke off", "not_finished", _facts(_result(complete=False))),
        ("hung", "tests_hung", _facts(_result(hung=True))),
        ("never run", "no_result", _facts(None)),
        ("dirty tree", "result_not_bound", _facts(_result(commit=None))),
        ("other commit", "result_stale", _facts(_result(commit="other"))),
        ("old", "result_old", _facts(old)),
        ("no commit", "commit_unknown", _facts(_result(), commit=None)),
    ):
        yield ANSWERS.control(name, code, project_world(suite=facts))
    yield from python_controls(
        ANSWERS, lambda code: project_world(suite=_facts(_result(), problem=code))
    )


def _code(seen: Seen, limits: Limits) -> str:
    if not seen.configured or seen.problem or not seen.runner:
        return seen.problem or ("runner_missing" if seen.configured else "not_configured")
    doubts = (
        ("commit_unknown", not seen.commit_known),
        ("no_result", not seen.ran),
        ("result_not_bound", not seen.bound),
        ("result_stale", not seen.same_commit),
        ("result_old", seen.age_s > limits.age_s),
        ("tests_failed", seen.failed > 0),
        ("tests_hung", seen.hung),
        ("not_finished", not seen.complete),
        ("ended_red", seen.red),
        ("no_test_ran", seen.passed < 1),
    )
    green = "green_kept" if seen.kept else "green"
    return next((code for code, holds in doubts if holds), green)


def _result(**changed: object) -> SuiteResult:
    known = {"commit": CONTROL_COMMIT, "passed": 10, **changed}
    return SuiteResult(**known)  # type: ignore[arg-type]


def _facts(result: SuiteResult | None, **changed: object) -> SuiteFacts:
    known = {"commit": CONTROL_COMMIT, "result": result, **changed}
    return SuiteFacts(**known)  # type: ignore[arg-type]


@hookimpl
def pfid_checks() -> Iterable[AnyCheck]:
    """Hand the check over."""
    yield Check(
        name="test_suite_green",
        stage=Stage.PREFLIGHT,
        scope=Scope.BOX,
        severity=Severity.WARNING,
        observe=observe,
        judge=judge,
        reasons=ANSWERS.reasons,
        controls=controls,
        limits=Limits(),
        reads=("suite",),
        runbook=__doc__ or "",
    )
