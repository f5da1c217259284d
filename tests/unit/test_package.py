"""What is tested is what is installed, and what is installed is what was meant."""

import ast
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pfid_plugins
import pytest

import pfid

WHEEL = os.environ.get("PFID_TEST_WHEEL", "")
"""Set by tests/run, which installs this wheel and tests it."""


def sources(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")}


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    if WHEEL:
        return zipfile.ZipFile(WHEEL)
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, cwd=checkout, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


@pytest.mark.skipif(not WHEEL, reason="only tests/run installs the wheel")
@pytest.mark.parametrize("package", [pfid, pfid_plugins])
def test_the_installed_package_is_tested_not_the_checkout(package: object) -> None:
    assert "site-packages" in Path(str(package.__file__)).parts


@pytest.mark.skipif(not WHEEL, reason="only tests/run installs the wheel")
def test_a_process_started_by_a_test_sees_the_installed_package_too() -> None:
    command = [sys.executable, "-c", "import pfid; print(pfid.__file__)"]
    seen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "site-packages" in seen


def test_the_wheel_holds_every_module_and_every_check(
    wheel: zipfile.ZipFile, checkout: Path
) -> None:
    packed = set(wheel.namelist())
    for folder, package in (("pfid", "pfid"), ("plugins", "pfid_plugins")):
        meant = {f"{package}/{name}" for name in sources(checkout / folder)}
        assert meant <= packed, sorted(meant - packed)
        assert f"{package}/py.typed" in packed


def test_the_wheel_holds_every_file_that_is_read_at_run_time(
    wheel: zipfile.ZipFile, checkout: Path
) -> None:
    """Patterns of refusals, the starter ledger, rules, the dashboard: no import misses them."""
    packed = set(wheel.namelist())
    meant = {
        f"pfid/{path.relative_to(checkout / 'pfid').as_posix()}"
        for path in (checkout / "pfid").rglob("*")
        if path.is_file() and path.suffix != ".pyc" and not path.name.startswith(".")
    }
    assert sum(name.startswith("pfid/adapters/refusal_words/") for name in meant) >= 10
    assert "pfid/bootstrap/claims/starter.toml.in" in meant
    assert meant <= packed, sorted(meant - packed)


def test_the_wheel_brings_nothing_but_its_packages(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"pfid", "pfid_plugins"}


def metadata(wheel: zipfile.ZipFile, key: str) -> list[str]:
    (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    lines = wheel.read(name).decode().splitlines()
    return [line.split(": ", 1)[1] for line in lines if line.startswith(f"{key}: ")]


def test_the_base_install_does_not_ask_for_torch(wheel: zipfile.ZipFile) -> None:
    wanted = metadata(wheel, "Requires-Dist")
    base = [requirement for requirement in wanted if "extra ==" not in requirement]
    names = {re.split(r"[^A-Za-z0-9_-]", requirement)[0].lower() for requirement in base}
    assert "psutil" in names
    assert not names & {"torch", "transformers", "accelerate", "lightning", "deepspeed"}


def test_the_version_is_said_once(wheel: zipfile.ZipFile) -> None:
    assert metadata(wheel, "Version") == [pfid.__version__]


@pytest.mark.parametrize("folder", ["pfid/trainer", "pfid/probes"])
def test_what_a_training_interpreter_runs_keeps_to_python_3_9(checkout: Path, folder: str) -> None:
    places = list((checkout / folder).rglob("*.py"))
    assert places
    for place in places:
        ast.parse(place.read_text(), filename=str(place), feature_version=(3, 9))
