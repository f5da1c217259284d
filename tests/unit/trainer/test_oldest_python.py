"""What runs in the training interpreter runs on the oldest Python that is promised: 3.9.

The linter holds the syntax to it. What a newer standard library brings is found by vermin, which
knows since when each module, function and argument is there; and every Python that this machine has
is asked itself.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pfid.trainer

TRAINER = Path(pfid.trainer.__file__).parent
PROBES = TRAINER.parent / "probes"
SITE = TRAINER / "site"
OLDEST = (3, 9)
BESIDE = {"pfid.probes.demo_numpy", "pfid.probes.demo_torch"}
"""Example programs: they import what they show."""
IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
from pfid.trainer import StepReporter, cache_key, observe, optimizer_steps, step_time_summary
reporter = StepReporter(environ={"PFID_RUN_DIR": ""})
with reporter.step(tokens=8) as step:
    step.loss = 0.5
assert optimizer_steps(20982, 2, 8, version="5.24.0") == 1312
assert step_time_summary([9.0, 1.0, 2.0])["p50"] == 1.0
assert len(cache_key(encode_version=1, chat_template=None, files={}, values={})) == 64
assert observe("key", 1) is False
"""


def least(*places: Path) -> tuple[int, ...]:
    """The oldest Python 3 that vermin lets run what lies there."""
    vermin = [str(Path(sys.executable).with_name("vermin")), "--no-tips", "--eval-annotations"]
    done = subprocess.run(
        [*vermin, *map(str, places)], capture_output=True, text=True, check=False, timeout=120
    )
    found = re.search(r"^Minimum required versions: .*?\b3\.(\d+)", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return 3, int(found[1])


def pythons() -> list[tuple[tuple[int, ...], str]]:
    """Every Python here that runs, by version: of the path, and of pyenv."""
    names = ["python2.7", *(f"python3.{minor}" for minor in range(5, 16))]
    found = {sys.executable, *filter(None, map(shutil.which, names))}
    found |= {str(path) for path in Path.home().glob(".pyenv/versions/*/bin/python")}
    running = {}
    for program in sorted(found):
        asked = [program, "-S", "-c", "import sys; print(list(sys.version_info[:2]))"]
        done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode == 0:
            version = tuple(int(part) for part in re.findall(r"\d+", done.stdout))
            running.setdefault(version, program)
    return sorted(running.items())


def test_nothing_that_a_training_interpreter_loads_needs_a_newer_standard_library():
    assert least(TRAINER, PROBES) <= OLDEST


@pytest.mark.parametrize(
    "newer",
    [
        "import tomllib",
        "from itertools import pairwise",
        "import sys; sys.orig_argv",
        "list(zip((1,), (2,), strict=True))",
        "from typing import TypeAlias",
    ],
)
def test_what_came_later_is_noticed(tmp_path, newer):
    (tmp_path / "newer.py").write_text(f"{newer}\n")
    assert least(tmp_path / "newer.py") > OLDEST


@pytest.mark.full
def test_every_python_here_that_may_train_loads_all_of_it_and_uses_it():
    root = TRAINER.parents[1]
    files = [*TRAINER.glob("*.py"), *TRAINER.glob("callbacks/*.py"), *PROBES.glob("*.py")]
    names = {".".join(file.relative_to(root).with_suffix("").parts) for file in files}
    wanted = sorted(name.removesuffix(".__init__") for name in names - BESIDE)
    asked = [(version, program) for version, program in pythons() if version >= OLDEST]
    assert sys.version_info[:2] in [version for version, _ in asked]
    for version, program in asked:
        command = [program, "-W", "error", "-c", IMPORT_ALL, *wanted]
        environ = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, (version, done.stderr)


@pytest.mark.full
def test_every_python_here_starts_under_instrument_however_old(tmp_path):
    environ = {"PYTHONPATH": str(SITE), "PFID_RUN_DIR": str(tmp_path), "PATH": os.environ["PATH"]}
    for version, program in pythons():
        done = subprocess.run(
            [program, "-c", "print(1)"],
            env={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert (done.stdout.strip(), done.stderr) == ("1", ""), version
