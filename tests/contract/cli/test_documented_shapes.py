"""What the README says stands in an object is what is printed, no more and no less."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[3] / "README.md").read_text()
SHAPES = README.partition("## JSON shapes")[2].partition("\n## ")[0]


def documented(what):
    """Keys in the second cell of a row; what stands in brackets explains the key before it."""
    (row,) = [line for line in SHAPES.splitlines() if line.startswith(f"| {what} |")]
    cell = re.sub(r"\([^)]*\)", "", row.split("|")[2]).split(";")[0]
    return set(re.findall(r"`([a-z_0-9]+)`", cell))


@pytest.fixture
def printed(daemon, make, pfid_json):
    daemon.snapshot = make.snapshot(
        runs=[make.run()], verdicts=[make.verdict()], gates=[make.gate()], gpus=make.gpus()
    )
    daemon.events = [make.transition()]
    return pfid_json


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("show", "train-0001"),
        ("events",),
        ("gpus",),
        ("config", "check"),
        ("config", "show"),
        ("checks", "list"),
        ("checks", "explain", "run_gone"),
    ],
)
def test_an_object_holds_what_the_readme_says(printed, command):
    known = [*command[:1]] if command[0] in {"status", "show", "events", "gpus"} else [*command[:2]]
    _, found = printed(*command)
    assert found.keys() - {"schema"} == documented(f"`pfid {' '.join(known)}`")


def test_list_may_be_left_out_of_checks_with_json_as_without(printed):
    _, found = printed("checks")
    assert found.keys() - {"schema"} == documented("`pfid checks list`")


def test_an_option_before_a_command_of_checks_is_not_swallowed(pfid):
    code, out, err = pfid("checks", "--json", "explain", "run_gone")
    assert (code, out) == (2, "")
    assert "behind the command" in err


def test_what_stands_inside_is_documented_too(printed):
    status, events = printed("status")[1], printed("events")[1]
    assert status["verdicts"][0].keys() == documented("verdict")
    assert status["summary"].keys() == documented("summary of verdicts")
    assert status["gates"].keys() == documented("gates of `pfid status`")
    assert status["runs"][0].keys() == documented("run")
    assert status["sources"][0].keys() == documented("source")
    (gpu,) = printed("gpus")[1]["gpus"]
    assert gpu.keys() == documented("gpu")
    assert events["events"][0].keys() - {"source"} == documented("event")
