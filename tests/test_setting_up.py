"""What `tests/run` does where no index has what it asks for: another way, or words that help."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

RUN = (Path(__file__).parent / "run").read_text()
FUNCTIONS = "\n".join(
    re.findall(r"^\w+\(\) \{(?: [^\n]*|\n.*?^)\}$", RUN, re.MULTILINE | re.DOTALL)
)
(NO_INDEX,) = re.findall(r"^no_index='.*?'$", RUN, re.MULTILINE | re.DOTALL)
INDEX = "https://index.invalid/cpu"


@pytest.fixture
def bash(tmp_path):
    """Run lines of bash with the functions of tests/run, in a folder with a project and a pip."""
    (tmp_path / "pyproject.toml").write_text('"torch==2.13.0",\n')
    (tmp_path / "pip").write_text('#!/bin/sh\necho "$*" >>asked\neval "$HAS"\n')
    (tmp_path / "pip").chmod(0o755)

    def run(lines, *, has="exit 1", ci="false", path=""):
        head = f"work=. venv=here cpu_torch_index={INDEX} ci={ci} python={sys.executable}"
        text = f"set -euo pipefail\n{head}\npip=(./pip)\n{NO_INDEX}\n{FUNCTIONS}\n{lines}\n"
        environ = {**os.environ, "HAS": has, "PYTHONPATH": path}
        return subprocess.run(
            ["bash", "-c", text], cwd=tmp_path, env=environ, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    return run


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_torch_is_taken_from_the_first_place_that_has_it(bash, tmp_path, nth):
    done = bash(f"cpu_torch {sys.executable}", has=f"[ $(wc -l <asked) = {nth} ]")
    assert done.returncode == 0, done.stderr
    asked = (tmp_path / "asked").read_text().splitlines()
    assert (
        asked
        == [
            "install --no-compile torch==2.13.0+cpu",
            f"install --no-compile --extra-index-url {INDEX} torch==2.13.0+cpu",
            "install --no-compile torch==2.13.0",
        ][:nth]
    )


def test_without_any_it_says_what_was_tried_and_what_to_do(bash):
    done = bash(f"cpu_torch {sys.executable}", has="echo no route >&2; exit 1")
    assert done.returncode == 1
    assert "no route" in done.stderr
    assert done.stderr.count("tests/run: tried: pip install ") == 3
    assert f"--extra-index-url {INDEX}" in done.stderr
    assert "PIP_FIND_LINKS=FOLDER" in done.stderr


def test_whatever_else_pip_cannot_install_ends_with_what_to_do(bash):
    done = bash("installed hatchling\necho on")
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip could not install hatchling" in done.stderr
    assert "PIP_INDEX_URL" in done.stderr


@pytest.mark.parametrize(
    ("told", "ci", "code", "said"),
    [
        ("cuda = None\nhip = None", "true", 0, ""),
        ("cuda = '12.8'", "true", 1, "CI tests the CPU build"),
        ("cuda = '12.8'", "false", 0, "torch 2.13.0 is a build for cuda"),
        ("hip = '7'", "false", 0, "torch 2.13.0 is a build for hip"),
    ],
)
def test_a_build_for_gpus_is_refused_on_ci_and_said_elsewhere(bash, tmp_path, told, ci, code, said):
    (tmp_path / "lib" / "torch").mkdir(parents=True)
    (tmp_path / "lib" / "torch" / "version.py").write_text(told)
    (tmp_path / "lib" / "torch-2.13.0.dist-info").mkdir()
    (tmp_path / "lib" / "torch-2.13.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n"
    )
    done = bash("no_cuda", ci=ci, path=str(tmp_path / "lib"))
    assert done.returncode == code, done.stderr
    assert said in done.stdout + done.stderr
    assert bool(said) is bool(done.stdout + done.stderr)
