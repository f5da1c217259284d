"""What ``pfid claims`` prints is what the README says."""

import json

import pytest
from click.testing import CliRunner

from pfid.cli.entry import main

NEW = ("--text", "t", "--figure", "1.5", "--measured", "run 2")
SAID = ("--falls", "f", "--survives", "s")


@pytest.fixture
def printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        done = CliRunner().invoke(main, ["claims", *arguments, "--json"])
        shown = json.loads(done.stdout)
        assert shown.pop("schema") == 1
        return shown

    call("init")
    call("add", "k", *NEW)
    return call


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("add", "new", *NEW),
        ("supersede", "k", *SAID, "--withdrawn"),
        ("why", "k"),
        ("init", "--ledger", "other.toml"),
    ],
)
def test_an_object_holds_what_the_readme_says(printed, documented, arguments):
    assert printed(*arguments).keys() == documented(f"`pfid claims {arguments[0]}`")


def test_a_claim_holds_what_the_readme_says(printed, documented):
    (claim,) = printed("why", "k")["live"]
    assert claim.keys() | claim["source"].keys() | {"path", "reason"} == documented(
        "claim of `pfid claims`"
    ) | {"kind", "by", "file", "sha256", "path", "reason"}
