"""Are real suites run by a real interpreter, and is a result bound to its commit?"""

import sys

import pytest
from msgspec.structs import replace

from pfid.bootstrap.preflight.suite import suite_facts

pytestmark = pytest.mark.full
PYTEST = '[tests]\nrunner = "pytest"\nargs = ["tests", "-p", "no:cacheprovider"]\n'
UNITTEST = '[tests]\nrunner = "unittest"\nargs = ["discover", "tests"]\n'
CASE = "import unittest\nclass T(unittest.TestCase):\n"


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


def test_a_new_commit_is_tested_again(repository):
    repository.write("tests/test_a.py", "def test_a():\n    pass\n")
    repository.commit()
    result(repository, PYTEST)
    repository.write("tests/test_a.py", "def test_a():\n    assert False\n")
    repository.commit()
    assert result(repository, PYTEST).failed == 1


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
    repository.write("tests/test_a.py", "def test_a():\n    pass\n")
    repository.commit()
    assert result(repository, PYTEST).passed == 1
    other = tmp_path / "other" / "python"
    other.parent.mkdir()
    other.write_text(f'#!/bin/sh\nexec -a {other} {sys.executable} "$@"\n'.replace("sh", "bash"))
    other.chmod(0o755)
    project = repository.project(PYTEST)
    elsewhere = project.of_spec(replace(project.spec, python=str(other)))
    assert suite_facts(elsewhere, run=False).result is None
    assert suite_facts(project, run=False).result.passed == 1


def test_a_result_may_be_recalled_without_running_anything(repository):
    repository.write("tests/test_a.py", "def test_a():\n    pass\n")
    repository.commit()
    assert suite_facts(repository.project(PYTEST), run=False).result is None
    assert result(repository, PYTEST + "run = false\n") is None
    first = result(repository, PYTEST)
    repository.commit("empty")
    kept = suite_facts(repository.project(PYTEST), run=False)
    assert kept.result.commit == first.commit != kept.commit


@pytest.mark.parametrize(
    ("spec", "text", "counts"),
    [
        (UNITTEST, CASE + "    def test_a(self):\n        pass\n", (1, 0, 0)),
        (UNITTEST, CASE + "    def test_a(self):\n        self.fail()\n", (0, 1, 0)),
        (UNITTEST, CASE + "    def test_a(self):\n        self.skipTest('x')\n", (0, 0, 1)),
        (PYTEST, "import pytest\ndef test_a():\n    pytest.skip()\n", (0, 0, 1)),
        (PYTEST, "import nowhere\n", (0, 1, 0)),
    ],
)
def test_what_ran_is_counted(repository, spec, text, counts):
    repository.write("tests/test_a.py", text)
    repository.commit()
    found = result(repository, spec)
    assert (found.passed, found.failed, found.skipped) == counts


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
    text = "def test_a():\n    open('train/core.py', 'a').write('#')\n"
    repository.write("tests/test_a.py", text)
    repository.commit()
    assert result(repository, PYTEST).commit is None


def test_a_dirty_tree_binds_to_no_commit(repository):
    repository.write("tests/test_a.py", "def test_a():\n    pass\n")
    repository.commit()
    repository.write("train/core.py", "")
    assert result(repository, PYTEST).commit is None


def test_a_suite_that_hangs_is_ended(repository):
    repository.write("tests/test_a.py", "import time\ndef test_a():\n    time.sleep(60)\n")
    repository.commit()
    found = result(repository, PYTEST + "deadline_s = 1.5\n")
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
