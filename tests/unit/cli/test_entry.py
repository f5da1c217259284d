"""The group of commands: lazy, helpful, and no traceback for what pfid raises on purpose."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from pfid.cli.entry import COMMANDS, main
from pfid.domain.errors import ConfigError, StateError


def test_help_names_every_command():
    out = CliRunner().invoke(main, ["--help"]).stdout
    assert all(f"  {name} " in out for name in COMMANDS)


def test_help_loads_no_command_and_none_of_their_libraries():
    code = (
        "import sys\n"
        "from pfid.cli.entry import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "heavy = {'rich', 'msgspec', 'numpy', 'psutil', 'prometheus_client', 'structlog',"
        " 'apscheduler', 're2', 'watchdog', 'sqlite3', 'asyncio', 'torch'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_an_unknown_command_is_a_usage_error():
    done = CliRunner().invoke(main, ["nothing"])
    assert done.exit_code == 2
    assert "nothing" in done.stderr


@pytest.mark.parametrize(
    ("problem", "code"), [(ConfigError(("a: bad", "b: bad")), 2), (StateError("disk\x1b"), 3)]
)
def test_what_pfid_raises_becomes_a_sentence_and_a_status(monkeypatch, problem, code):
    @click.command()
    def failing():
        raise problem

    monkeypatch.setattr("pfid.cli.status.command", failing)
    done = CliRunner().invoke(main, ["status"])
    assert (done.exit_code, done.stdout) == (code, "")
    assert all(line.startswith("pfid: ") for line in done.stderr.splitlines())
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (["statsu"], "status"),
        (["probe", "lenths"], "lengths"),
        (["provenance", "shw"], "show"),
        (["claims", "chek"], "check"),
    ],
)
def test_a_command_that_is_nearly_one_is_told_which(call, meant):
    done = CliRunner().invoke(main, call)
    assert done.exit_code == 2
    assert "No such command" in done.stderr
    assert f"'{meant}'" in done.stderr
