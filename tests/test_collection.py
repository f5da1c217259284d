"""What ``tests/conftest.py`` makes of a collection: the same names, the longest first."""

import ast
import os
import shutil
import subprocess
import sys

import pytest

NAMED_BY_THE_SECOND = """
import time

import pytest


@pytest.mark.parametrize("second", [f"{time.time():.0f}"])
def test_it(second):
    assert second
"""
NAMED = "def test_it():\n    assert True\n"


@pytest.fixture
def tree(tmp_path, checkout):
    """A checkout whose tests are our conftest and what is written there."""
    tests = tmp_path / "tests"
    tests.mkdir()
    shutil.copy(checkout / "pyproject.toml", tmp_path)
    shutil.copy(checkout / "tests" / "conftest.py", tests)
    shutil.copytree(checkout / "tests" / "nvml_shim", tests / "nvml_shim")
    for place in first(checkout):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        if place.endswith(".py"):
            (tmp_path / place).write_text(NAMED)
        else:
            (tmp_path / place).mkdir()
    return tmp_path


def first(checkout):
    for node in ast.parse((checkout / "tests" / "conftest.py").read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "FIRST":
            return ast.literal_eval(node.value)
    raise AssertionError("tests/conftest.py names nothing that comes first")


def run(tree, *arguments):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, "tests"],
        cwd=tree,
        env=kept,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.full
def test_a_test_named_by_the_second_is_refused_every_time(tree):
    (tree / "tests" / "test_named.py").write_text(NAMED_BY_THE_SECOND)
    done = run(tree, "-n", "2")
    assert done.returncode != 0
    assert "Different tests were collected" in done.stdout


def test_what_takes_longest_comes_first_and_the_rest_as_it_stands(tree, checkout):
    (tree / "tests" / "a").mkdir()
    (tree / "tests" / "a" / "test_a.py").write_text(NAMED)
    (tree / "tests" / "test_z.py").write_text(NAMED)
    listed = run(tree, "--collect-only", "-q").stdout.splitlines()
    files = [line.partition("::")[0] for line in listed if "::" in line]
    assert files == [
        *(place for place in first(checkout) if place.endswith(".py")),
        "tests/a/test_a.py",
        "tests/test_z.py",
    ]


def test_a_place_that_is_gone_is_named(tree, checkout):
    gone = tree / first(checkout)[-1]
    gone.unlink()
    done = run(tree, "--collect-only", "-q")
    assert done.returncode != 0
    assert gone.name in done.stderr
