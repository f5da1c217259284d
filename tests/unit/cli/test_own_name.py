"""A line that tells the next command begins as this very pfid can be called."""

import subprocess
import sys

import pytest

from pfid.cli.own_name import called

SCRIPT = "#!/bin/sh\n"


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A script ``pfid`` in an environment that nobody activated."""
    place = tmp_path / "my env" / "bin"
    place.mkdir(parents=True)
    script = place / "pfid"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(script), "demo"])
    return script


def test_a_script_that_the_shell_would_not_find_is_named_by_its_path(installed):
    assert called() == f"'{installed}'"


def test_one_that_it_would_find_is_pfid(installed, monkeypatch):
    monkeypatch.setenv("PATH", str(installed.parent))
    assert called() == "pfid"


def test_another_pfid_of_the_path_is_not_taken_for_this_one(installed, tmp_path):
    other = tmp_path / "pfid"
    other.write_text(SCRIPT)
    other.chmod(0o755)
    assert called() == f"'{installed}'"


def test_what_it_tells_without_a_script_can_be_called(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/pfid/__main__.py"])
    done = subprocess.run(f"{called()} --version", shell=True, capture_output=True, check=True)
    assert done.stdout.startswith(b"pfid, version ")
