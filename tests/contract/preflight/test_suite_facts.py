"""Are real suites run by a real interpreter, and is a result bound to its commit?"""

import sys

import pytest
from msgspec.structs import replace

from pfid.bootstrap.preflight import suite as module
from pfid.bootstrap.preflight.suite import TestRuns, suite_facts

pytestmark = pytest.mark.full
PYTEST = '[tests]\nrunner = "pytest"\nargs = ["tests", "-p", "no:cacheprovider"]\n'
UNITTEST = '[tests]\nrunner = "unittest"\nargs = ["discover", "tests"]\n'
CASE = "import unittest\nclass T(unittest.TestCase):\n"
GREEN = f"{CASE}    def test_a(self):\n        pass\n"
RED = f"{CASE}    def test_a(self):\n        self.fail()\n"
EXPECTED = "    @unittest.expectedFailure\n    def test_a(self):\n        self.fail()\n"
PRINTS = f"{CASE}    def test_a(self):\n        print('x')\n        self.fail()\n"
PRINTS += "    def test_b(self):\n        pass\n"


def result(repository, spec):
    return suite_facts(repository.project(spec)).result


def test_a_green_suite_is_green_for_its_commit_and_is_run_once(repository):
    repository.write("tests/test_a.py", "def test_a():\n    open('ran', 'a').write('x')\n")
    repository.write(".gitignore", "__pycache__\nran\n")
    commit = repository.commit()
    for _ in range(2):
        found = suite_facts(repository.project(PYTEST))
        assert found.commit == found.result.commit == commit
        assert (found.result.passed, found.result.failed) == (1, 0)
        assert found.result.complete
    assert (repository.folder / "ran").read_text() == "x"


@pytest.fixture
def counted(repository):
    """A suite that leaves a mark each time it runs, and passes unless told otherwise."""
    text = "        with open('ran', 'a') as file:\n            file.write('x')\n"
    text += "        self.assertFalse(os.path.exists('red'))\n"
    case = f"import os\n{CASE}    def test_a(self):\n{text}"
    repository.write("tests/test_a.py", case)
    repository.write(".gitignore", "__pycache__\nran\nred\n")
    repository.commit()
    return repository


def runs(repository):
    return len((repository.folder / "ran").read_text())


def test_a_green_result_that_is_used_again_says_so_and_how_old_it_is(counted, monkeypatch):
    first = result(counted, UNITTEST)
    assert not first.kept
    monkeypatch.setattr(module.time, "time", lambda now=module.time.time: now() + 3_600)
    again = result(counted, UNITTEST)
    assert again.kept
    assert again.age_s > 3_590
    assert runs(counted) == 1


def test_a_red_result_is_run_again_and_a_flake_is_told(counted):
    counted.write("red", "")
    assert [result(counted, UNITTEST).failed for _ in range(2)] == [1, 1]
    (counted.folder / "red").unlink()
    found = suite_facts(counted.project(UNITTEST))
    assert (found.result.passed, found.result.kept) == (1, False)
    assert "flaky" in found.detail
    assert suite_facts(counted.project(UNITTEST)).result.kept
    assert runs(counted) == 3


@pytest.mark.parametrize("age_s", [module.KEPT_S + 60, -60])
def test_a_green_result_of_another_day_is_made_again(counted, monkeypatch, age_s):
    result(counted, UNITTEST)
    monkeypatch.setattr(module.time, "time", lambda now=module.time.time: now() + age_s)
    assert not result(counted, UNITTEST).kept
    assert runs(counted) == 2


def test_a_green_result_can_be_asked_for_anew(counted):
    result(counted, UNITTEST)
    assert not suite_facts(counted.project(UNITTEST), run=TestRuns.ALWAYS).result.kept
    assert runs(counted) == 2


def test_a_green_result_of_a_look_that_knew_less_is_made_again(counted):
    result(counted, UNITTEST)
    (kept,) = (counted.state / "preflight").glob("tests-*.json")
    kept.write_text(kept.read_text().replace('"format":2', '"format":1'))
    assert not result(counted, UNITTEST).kept
    assert runs(counted) == 2


def other_variable(counted, _):
    counted.environ = {**counted.environ, "PYTEST_ADDOPTS": "-q"}


def other_library(counted, site):
    (site / "torch-9.dist-info").mkdir()


def other_untracked_file(counted, _):
    counted.write("conftest.py", "")


@pytest.mark.parametrize("change", [other_variable, other_library, other_untracked_file])
def test_a_result_counts_for_one_environment(counted, tmp_path, change):
    site = tmp_path / "site"
    site.mkdir()
    counted.environ = {**counted.environ, "PYTHONPATH": str(site)}
    result(counted, UNITTEST)
    counted.environ = {**counted.environ, "SLURM_JOB_ID": "7"}  # another job, the same world
    assert result(counted, UNITTEST).kept
    change(counted, site)
    assert not result(counted, UNITTEST).kept
    assert runs(counted) == 2


def test_a_new_commit_is_tested_again(repository):
    repository.write("tests/test_a.py", GREEN)
    repository.commit()
    result(repository, UNITTEST)
    repository.write("tests/test_a.py", RED)
    repository.commit()
    assert result(repository, UNITTEST).failed == 1


def test_a_commit_made_while_the_tests_run_takes_their_result_away(repository):
    committed = "git -c user.name=n -c user.email=e@e commit --allow-empty -qm x"
    test = (
        f"import subprocess\ndef test_a():\n    subprocess.run({committed.split()}, check=True)\n"
    )
    repository.write("tests/test_a.py", test)
    repository.write(".gitignore", "__pycache__\n")
    repository.commit()
    found = result(repository, PYTEST)
    assert (found.passed, found.commit) == (1, None)


def test_a_result_of_another_interpreter_is_none_of_this_one(repository, tmp_path):
    repository.write("tests/test_a.py", GREEN)
    repository.commit()
    assert result(repository, UNITTEST).passed == 1
    other = tmp_path / "other" / "python"
    other.parent.mkdir()
    other.write_text(f'#!/bin/sh\nexec -a {other} {sys.executable} "$@"\n'.replace("sh", "bash"))
    other.chmod(0o755)
    project = repository.project(UNITTEST)
    elsewhere = project.of_spec(replace(project.spec, python=str(other)))
    assert suite_facts(elsewhere, run=TestRuns.NEVER).result is None
    assert suite_facts(project, run=TestRuns.NEVER).result.passed == 1


def test_a_result_may_be_recalled_without_running_anything(repository):
    repository.write("tests/test_a.py", GREEN)
    repository.commit()
    assert suite_facts(repository.project(UNITTEST), run=TestRuns.NEVER).result is None
    assert result(repository, UNITTEST + "run = false\n") is None
    first = result(repository, UNITTEST)
    repository.commit("empty")
    kept = suite_facts(repository.project(UNITTEST), run=TestRuns.NEVER)
    assert kept.result.commit == first.commit != kept.commit


@pytest.mark.parametrize(
    ("spec", "text", "counts"),
    [
        (UNITTEST, CASE + "    def test_a(self):\n        pass\n", (1, 0, 0)),
        (UNITTEST, CASE + "    def test_a(self):\n        self.fail()\n", (0, 1, 0)),
        (UNITTEST, CASE + "    def test_a(self):\n        self.skipTest('x')\n", (0, 0, 1)),
        (UNITTEST, CASE + EXPECTED + "    def test_b(self):\n        pass\n", (1, 0, 1)),
        (UNITTEST, CASE + EXPECTED.replace("self.fail()", "pass"), (0, 1, 0)),
        (UNITTEST, f"print('Ran 9 tests in 1s')\n{PRINTS}", (1, 1, 0)),
        (UNITTEST, f"import atexit, os\natexit.register(os.write, 2, b'bye')\n{PRINTS}", (1, 1, 0)),
        (PYTEST, "import pytest\ndef test_a():\n    pytest.skip()\n", (0, 0, 1)),
        (PYTEST, "import nowhere\n", (0, 1, 0)),
    ],
)
def test_what_ran_is_counted(repository, spec, text, counts):
    repository.write("tests/test_a.py", text)
    repository.commit()
    found = result(repository, spec)
    assert (found.passed, found.failed, found.skipped) == counts


HOOK = "def pytest_sessionfinish(session):\n    session.exitstatus = {}\n"


@pytest.mark.parametrize(
    ("status", "red", "complete"), [(0, False, True), (1, True, True), (2, False, False)]
)
def test_a_runner_that_ends_red_without_a_failed_test_is_not_green(
    repository, status, red, complete
):
    """A coverage gate does this."""
    repository.write("tests/test_a.py", "def test_a():\n    pass\n")
    repository.write("tests/conftest.py", HOOK.format(status))
    repository.commit()
    first, again = result(repository, PYTEST), result(repository, PYTEST)
    assert (first.passed, first.failed) == (1, 0)
    assert (first.red, first.complete) == (red, complete)
    assert again.kept == (status == 0)


@pytest.mark.parametrize("spec", [PYTEST, UNITTEST])
def test_no_test_is_no_pass(repository, spec):
    repository.write("tests/empty.txt", "")
    repository.commit()
    assert result(repository, spec).passed == 0


def test_a_runner_that_breaks_off_is_not_complete(repository):
    repository.write("tests/test_a.py", "import os\ndef test_a():\n    os._exit(0)\n")
    repository.commit()
    found = result(repository, PYTEST)
    assert not found.complete
    assert found.passed == 0


def test_tests_that_change_the_tree_bind_to_no_commit(repository):
    text = GREEN.replace("pass", "open('train/core.py', 'a').write('#')")
    repository.write("tests/test_a.py", text)
    repository.commit()
    assert result(repository, UNITTEST).commit is None


def test_a_dirty_tree_binds_to_no_commit(repository):
    repository.write("tests/test_a.py", GREEN)
    repository.commit()
    repository.write("train/core.py", "")
    assert result(repository, UNITTEST).commit is None


def test_a_suite_that_hangs_is_ended(repository):
    repository.write("tests/test_a.py", "import time\n" + GREEN.replace("pass", "time.sleep(60)"))
    repository.commit()
    found = result(repository, UNITTEST + "deadline_s = 1.5\n")
    assert found.hung
    assert not found.complete


def test_a_runner_that_is_not_installed_is_said(repository, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    script = f'#!/bin/sh\nexec {sys.executable} -S "$@"\n'
    (bare / "python").write_text(script)
    (bare / "python").chmod(0o755)
    found = suite_facts(repository.project(PYTEST, python=str(bare / "python")))
    assert not found.runner
    assert found.result is None


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("exit 3", "python_crashed"),
        ("echo hello", "python_rubbish"),
        ("kill -9 $$", "python_crashed"),
    ],
)
def test_an_interpreter_that_is_none_is_named(repository, tmp_path, script, problem):
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(0o755)
    assert suite_facts(repository.project(PYTEST, python=str(fake))).problem == problem
    missing = repository.project(PYTEST, python=str(tmp_path / "none"))
    assert suite_facts(missing).problem == "python_not_found"
    unnamed = repository.project(PYTEST, python="")
    assert suite_facts(unnamed).problem == "python_not_configured"


LOUD = """
import os, subprocess, sys
{case}    def test_a(self):
        for _ in range({megabytes}):
            os.write({descriptor}, b"x" * 1_000_000)
        subprocess.Popen(["sleep", "600"])
"""


@pytest.mark.parametrize(
    ("spec", "descriptor"),
    [(UNITTEST, 1), (UNITTEST, 2), (PYTEST.replace("args = [", 'args = ["-s", '), 1)],
)
def test_whatever_a_suite_prints_and_leaves_running_its_result_is_counted(
    repository, spec, descriptor
):
    text = LOUD.format(case=CASE, megabytes=20, descriptor=descriptor)
    repository.write("tests/test_a.py", text)
    repository.commit()
    facts = suite_facts(repository.project(f"{spec}deadline_s = 60\n"))
    assert (facts.result.passed, facts.result.complete, facts.result.hung) == (1, True, False)
