"""The README's first line works as it stands: a fresh environment, the base install, the demo."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.full]

SOURCES = ("pfid", "plugins", "systemd", "pyproject.toml", "README.md", "LICENSE")


def first_line(readme: Path) -> str:
    return re.findall(r"```sh\n(.*?)\n```", readme.read_text(), re.DOTALL)[0]


def environ() -> dict[str, str]:
    """A user's environment, with the interpreter of these tests as python3."""
    base = Path(sys.base_prefix) / "bin"
    kept = {k: v for k, v in os.environ.items() if k not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    return kept | {"PATH": f"{base}:{os.environ['PATH']}"}


def test_the_first_line_installs_no_torch_and_shows_the_demo(tmp_path, checkout):
    for name in SOURCES:
        source = checkout / name
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, tmp_path / name, ignore=ignore)
        else:
            shutil.copy(source, tmp_path)
    line = first_line(checkout / "README.md")
    assert line.endswith("pfid demo")
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=tmp_path,
        env=environ(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAIL run_gone" in done.stdout
    assert "numpy: " in done.stdout
    (packages,) = (tmp_path / ".venv" / "lib").glob("python3*/site-packages")
    installed = {path.name.split("-")[0].lower() for path in packages.glob("*.dist-info")}
    assert "psutil" in installed
    assert not installed & {"torch", "transformers", "accelerate", "pytest"}
