"""What the README says stands in an object is what is printed, no more and no less."""

import dataclasses
import json

import pytest
from click.testing import CliRunner

from pfid.bootstrap.live.session import DrillResult
from pfid.cli import rotate, selftest, steps

DESIGNED_SEGMENT = {
    *("dialect", "clock", "first_step", "last_step", "n", "first_step_seconds"),
    *("min", "p50", "p90", "p99", "max", "unit", "interval_steps"),
}
"""Keys that scripts of others rely on; more may stand beside them."""
DESIGNED_GATE = {"check", "stage", "state", "proven_to", "controls", "sabotage"}
DESIGNED_VERDICT = {
    *("check", "stage", "outcome", "reason", "entity", "summary", "figures", "since"),
}


def alone(command, *arguments):
    """What a command that asks nobody prints."""
    return json.loads(CliRunner().invoke(command, [*map(str, arguments), "--json"]).stdout)


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
def test_an_object_holds_what_the_readme_says(printed, documented, command):
    known = [*command[:1]] if command[0] in {"status", "show", "events", "gpus"} else [*command[:2]]
    _, found = printed(*command)
    assert found.keys() - {"schema"} == documented(f"`pfid {' '.join(known)}`")


def test_list_may_be_left_out_of_checks_with_json_as_without(printed, documented):
    _, found = printed("checks")
    assert found.keys() - {"schema"} == documented("`pfid checks list`")


def test_an_option_before_a_command_of_checks_is_not_swallowed(pfid):
    code, out, err = pfid("checks", "--json", "explain", "run_gone")
    assert (code, out) == (2, "")
    assert "behind the command" in err


def test_what_stands_inside_is_documented_too(printed, documented):
    status, events = printed("status")[1], printed("events")[1]
    assert status["verdicts"][0].keys() == documented("verdict") >= DESIGNED_VERDICT
    assert status["summary"].keys() == documented("summary of verdicts")
    assert status["gates"].keys() == documented("gates of `pfid status`")
    assert status["runs"][0].keys() == documented("run")
    assert status["sources"][0].keys() == documented("source")
    (gpu,) = printed("gpus")[1]["gpus"]
    assert gpu.keys() == documented("gpu")
    assert events["events"][0].keys() - {"source"} == documented("event")


def test_a_gate_shows_its_controls_and_its_sabotage(documented):
    told = alone(selftest.command, "--check", "loss_not_finite")
    assert told.keys() - {"schema"} == documented("`pfid selftest`")
    assert told["summary"].keys() == documented("summary of gates")
    (gate,) = told["gates"]
    assert gate.keys() == documented("gate of `pfid selftest`") >= DESIGNED_GATE
    assert gate["proven_to"].keys() == {"controls", "sabotage", "live", "alerts"}
    assert gate["controls"][0].keys() == documented("control of a gate")
    assert gate["sabotage"][0].keys() == documented("sabotage of a gate")
    assert {f.name for f in dataclasses.fields(DrillResult)} == documented("drill")


def test_segments_come_with_their_unit_and_notes_with_their_line(documented, tmp_path):
    log = tmp_path / "train.log"
    log.write_text("".join(f"iter {i}: loss 2.5, time 500.00ms\n" for i in range(4)))
    told = alone(steps.command, log)
    assert told.keys() - {"schema"} == documented("`pfid steps`")
    (segment,) = told["segments"]
    assert segment.keys() == documented("segment of `pfid steps`") >= DESIGNED_SEGMENT
    assert segment["unit"] == "seconds_per_optimizer_step"
    assert told["notes"][0].keys() == documented("note of `pfid steps`")


def test_a_rotation_says_where_the_text_went(documented, tmp_path):
    log = tmp_path / "train.log"
    log.write_text("text\n")
    assert alone(rotate.command, log).keys() - {"schema"} == documented("`pfid rotate`")
