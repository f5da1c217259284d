"""The rules that DESIGN's tree rests on hold, and would be noticed if they did not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINT = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINT, "--no-cache", "--config", folder / "pyproject.toml"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(checkout: Path, tmp_path: Path) -> Path:
    """Return a copy of the source that a test may break."""
    shutil.copy(checkout / "pyproject.toml", tmp_path)
    caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(checkout / "pfid", tmp_path / "pfid", ignore=caches)
    shutil.copytree(checkout / "plugins", tmp_path / "pfid_plugins", ignore=caches)
    return tmp_path


def test_every_contract_is_kept(copy: Path) -> None:
    result = lint(copy)
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "statement", "contract"),
    [
        ("pfid/domain/outcome.py", "from pfid.spec import check", "layers point downwards"),
        ("pfid/policy/evaluate.py", "import time", "functional core"),
        ("pfid_plugins/watch/__init__.py", "import pfid.wire.control", "checks see the contract"),
        ("pfid_plugins/watch/__init__.py", "import os", "functional core"),
        ("pfid/trainer/__init__.py", "import numpy", "training process"),
        ("pfid/daemon/__init__.py", "import pfid.adapters", "layers point downwards"),
        ("pfid/daemon/__init__.py", "import psutil", "stay in the adapters"),
        ("pfid/adapters/__init__.py", "import rich", "speaks to a terminal"),
        ("pfid/daemon/__init__.py", "import numpy", "numpy costs"),
        ("pfid/analysis/__init__.py", "import torch", "training interpreter"),
        ("pfid_plugins/watch/run_gone.py", "import pfid_plugins.watch.run_stalled", "leans on"),
    ],
)
def test_an_import_against_the_layers_is_found(
    copy: Path, module: str, statement: str, contract: str
) -> None:
    place = copy / module
    place.write_text(f"{place.read_text()}\n{statement}\n")
    result = lint(copy)
    assert result.returncode == 1, result.stdout
    broken = [line for line in result.stdout.splitlines() if "BROKEN" in line]
    assert any(contract in line for line in broken), result.stdout


def test_a_new_package_must_take_its_place_in_the_layers(copy: Path) -> None:
    (copy / "pfid" / "helpers").mkdir()
    (copy / "pfid" / "helpers" / "__init__.py").write_text("")
    result = lint(copy)
    assert result.returncode == 1
    assert "helpers" in result.stdout
