"""A test that cannot run here is left out with its reason; on CI nothing may be left out."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

NEEDS = """
import pytest

@pytest.mark.needs("sh", "no-such-program")
def test_something():
    pass
"""
SKIPS = """
import pytest

def test_another():
    pytest.skip("no reason of ours")
"""


FIELD = """
import pytest

@pytest.mark.field_cases
def test_something():
    pass
"""


def collected(folder: Path, checkout: Path, text: str, ci: str) -> subprocess.CompletedProcess[str]:
    shutil.copy(checkout / "tests" / "conftest.py", folder)
    (folder / "nvml_shim").symlink_to(checkout / "tests" / "nvml_shim")
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text(
        "[pytest]\nmarkers =\n  needs(*programs): x\n  root: x\n  field_cases: x\n"
    )
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", folder],
        env=dict(os.environ) | {"CI": ci},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("text", [NEEDS, SKIPS])
def test_elsewhere_it_is_skipped(tmp_path, checkout, text):
    done = collected(tmp_path, checkout, text, "false")
    assert done.returncode == 0
    assert "1 skipped" in done.stdout


@pytest.mark.parametrize(("text", "status"), [(NEEDS, 1), (SKIPS, 9), (NEEDS + SKIPS, 9)])
def test_on_ci_it_fails(tmp_path, checkout, text, status):
    """Left out by the test itself, it is told from a test that failed: no second try helps."""
    done = collected(tmp_path, checkout, text, "true")
    assert done.returncode == status, done.stdout


def test_only_what_is_not_ours_to_copy_may_be_missing_on_ci(tmp_path, checkout):
    folder = tmp_path / "some" / "checkout"
    folder.mkdir(parents=True)
    done = collected(folder, checkout, FIELD, "true")
    assert done.returncode == 0, done.stdout
    assert "no field cases" in done.stdout


TWO = """
import pytest

@pytest.mark.parametrize("n", [1, 2])
def test_another(n):
    pytest.skip("no reason of ours")
"""


def test_each_test_that_is_left_out_is_named(tmp_path, checkout):
    """Pytest names the place that left them out, and how many they are."""
    said = collected(tmp_path, checkout, NEEDS + TWO, "false").stdout
    assert "3 tests were left out" in said
    named = [line.split("::")[1] for line in said.splitlines() if "LEFT OUT " in line]
    assert named == [
        "test_another[1]: Skipped: no reason of ours",
        "test_another[2]: Skipped: no reason of ours",
        "test_something: Skipped: needs no-such-program",
    ]


def test_what_is_missing_is_named(tmp_path, checkout):
    assert "needs no-such-program" in collected(tmp_path, checkout, NEEDS, "false").stdout
