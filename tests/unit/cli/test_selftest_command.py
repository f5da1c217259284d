"""pfid selftest and pfid checks, as a shell sees them."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from click.testing import CliRunner

from pfid.bootstrap.live.session import DrillResult
from pfid.cli import checks, selftest
from pfid.cli.gate_output import denominator
from pfid.cli.junit import write_junit
from pfid.cli.output import Exit
from pfid.domain.gate import ControlResult, Gate, GateState, ProvenTo, SabotageResult
from pfid.domain.names import CheckName


def run(command, *arguments):
    return CliRunner().invoke(command, arguments)


def gate(name="a", state=GateState.PROVEN, **more):
    return Gate(
        check=CheckName(name), stage="watch", state=state, proven_to=ProvenTo(controls=True), **more
    )


def test_json_has_the_documented_shape_and_nothing_else_on_stdout():
    result = run(selftest.command, "--check", "run_gone", "--json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    assert data["schema"] == 1
    assert data["summary"] == {
        "checks": 1,
        "applicable": 1,
        "ran": 1,
        "firing": 1,
        "proven": 1,
        "unproven": 0,
        "disabled": 0,
    }
    (only,) = data["gates"]
    assert (only["check"], only["stage"], only["state"]) == ("run_gone", "watch", "proven")
    assert only["proven_to"] == {"controls": True, "sabotage": True, "live": None, "alerts": None}
    assert only["proven_at"].endswith("Z")
    assert {"name", "expect", "got", "reason", "ok"} <= set(only["controls"][0])
    assert {"mutant", "caught"} == set(only["sabotage"][0])
    assert all(s["caught"] for s in only["sabotage"])


def test_the_table_ends_with_an_honest_denominator():
    result = run(selftest.command, "--check", "loss_not_finite")
    assert "1 proven of 1 applicable; 1 ran, 1 seen to fire" in result.stdout


def test_a_check_nobody_has_is_a_usage_error_that_names_it():
    result = run(selftest.command, "--check", "run_gon")
    assert result.exit_code == Exit.USAGE
    assert "run_gon" in result.stderr


def test_a_stage_without_checks_is_not_a_success(tmp_path):
    result = run(selftest.command, "--stage", "result", "--json")
    summary = json.loads(result.stdout)["summary"]
    if summary["checks"] == 0:
        assert result.exit_code == Exit.UNKNOWN


def test_a_limit_that_breaks_a_check_is_named_and_fails(tmp_path):
    file = tmp_path / "pfid.toml"
    file.write_text("[checks.run_stalled.limits]\nno_such_limit = 3.0\n")
    result = run(selftest.command, "--config", str(file), "--stage", "watch", "--json")
    assert result.exit_code == Exit.FAILED
    broken = [g for g in json.loads(result.stdout)["gates"] if g["check"] == "run_stalled"]
    assert broken[0]["state"] == "unproven"
    assert "no_such_limit" in broken[0]["why"]


def test_a_disabled_check_is_neither_proven_nor_a_failure(tmp_path):
    file = tmp_path / "pfid.toml"
    file.write_text("[checks.run_stalled]\nenabled = false\n")
    result = run(selftest.command, "--config", str(file), "--stage", "watch", "--json")
    data = json.loads(result.stdout)
    assert result.exit_code == Exit.OK
    assert data["summary"]["disabled"] == 1
    assert data["summary"]["applicable"] == data["summary"]["checks"] - 1


def test_a_configuration_that_cannot_be_read_is_a_usage_error(tmp_path):
    file = tmp_path / "pfid.toml"
    file.write_text("[checks\n")
    result = run(selftest.command, "--config", str(file))
    assert result.exit_code == Exit.USAGE
    assert str(file) in result.stderr


@pytest.mark.parametrize(
    ("gates", "status"),
    [
        ((), Exit.UNKNOWN),
        ((gate(state=GateState.DISABLED),), Exit.UNKNOWN),
        ((gate(), gate("b", GateState.UNPROVEN)), Exit.FAILED),
        ((gate(), gate("b", GateState.DISABLED)), Exit.OK),
    ],
)
def test_nothing_tried_is_not_a_success(gates, status):
    assert selftest.verdict(gates) is status


def test_a_failed_live_leg_is_a_failure():
    failed = Gate(
        check=CheckName("a"),
        stage="watch",
        state=GateState.PROVEN,
        proven_to=ProvenTo(controls=True, sabotage=True, live=False),
    )
    assert selftest.verdict((failed,)) is Exit.FAILED


@pytest.mark.parametrize(
    ("options", "untried"),
    [
        (("--check", "adapter_reach", "--live"), "--live, viability"),
        (("--check", "gate_sees_property", "--live"), "--live, result"),
        (("--check", "gpu_free", "--live"), "--live, preflight"),
        (("--check", "gpu_xid", "--live"), "--live, watch"),
        (("--check", "gpu_free", "--burn", "python"), "--burn"),
        (("--check", "gpu_free", "--stage", "preflight", "--alerts"), "--alerts"),
    ],
)
def test_a_leg_that_was_asked_for_and_tried_on_nothing_is_not_a_success(
    options, untried, monkeypatch
):
    monkeypatch.delenv("PFID_NVML_SHIM", raising=False)
    result = run(selftest.command, *options)
    assert result.exit_code == Exit.UNKNOWN, result.stderr
    assert f"{untried}: nothing that was chosen could be tried here" in result.stderr


def drilled(check, ok):
    return DrillResult(drill="d", check=check, ok=ok)


def staged(check, stage, state=GateState.PROVEN):
    return replace(gate(check, state), stage=stage)


@pytest.mark.parametrize(
    ("gates", "drills", "untried"),
    [
        ([gate("a")], [], ("--live, watch",)),
        ([gate("a")], [drilled("a", None)], ("--live, watch",)),
        ([gate("a"), gate("b")], [drilled("a", None), drilled("b", ok=True)], ()),
        ([gate("a")], [drilled("a", ok=False)], ()),
        ([gate("a"), staged("m", "viability")], [drilled("a", ok=True)], ()),
        ([gate("a"), staged("p", "preflight")], [drilled("a", ok=True)], ("--live, preflight",)),
        ([staged("m", "viability")], [], ("--live, viability",)),
        ([gate("a"), gate("b", GateState.DISABLED)], [drilled("b", ok=True)], ("--live, watch",)),
    ],
)
def test_every_stage_with_drills_has_had_one_driven(gates, drills, untried):
    assert selftest.undriven(gates, drills) == untried


def test_the_denominator_counts_what_was_seen_to_fire():
    legs = ControlResult(
        name="l", expect="pass,fail,pass", got="pass,fail,pass", reason="r", ok=True
    )
    gates = (gate("a", controls=(legs,)), gate("b", GateState.UNPROVEN))
    counts = denominator(gates)
    assert (counts["applicable"], counts["ran"], counts["firing"]) == (2, 1, 1)


def test_junit_names_every_control_and_mutant_that_failed(tmp_path):
    bad = ControlResult(name="c\x1b", expect="fail", got="pass", reason="r", ok=False)
    mutant = SabotageResult(mutant="limit:x:up", caught=False)
    gates = (gate("a", GateState.UNPROVEN, why="no", controls=(bad,), sabotage=(mutant,)),)
    write_junit(tmp_path / "j.xml", gates)
    (suite,) = ET.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "3")
    assert [f.get("message") for f in suite.iter("failure")] == [
        "no",
        "expected fail, got pass r",
        "no control noticed",
    ]


def test_junit_that_cannot_be_written_is_said(tmp_path):
    result = run(selftest.command, "--check", "run_gone", "--junit", str(tmp_path / "no" / "j.xml"))
    assert result.exit_code == Exit.USAGE
    assert "cannot be written" in result.stderr


def test_checks_lists_every_check_with_its_gate():
    data = json.loads(run(checks.command, "list", "--json").stdout)
    by_name = {c["gate"]["check"]: c for c in data["checks"]}
    assert by_name["run_gone"]["gate"]["state"] == "proven"
    assert by_name["run_gone"]["reads"] == ["run"]
    assert data["summary"]["checks"] == len(by_name)


def test_checks_alone_lists_too():
    result = run(checks.command)
    assert result.exit_code == 0
    assert "run_stalled" in result.stdout


def test_explain_prints_runbook_reasons_limits_and_controls():
    text = run(checks.command, "explain", "run_stalled").stdout
    for part in ("Blind spot:", "When it fires:", "train_s", "600", "no_first_step", "sabotage:"):
        assert part in text


def test_explain_suggests_what_was_meant():
    result = run(checks.command, "explain", "run_gonn")
    assert result.exit_code == Exit.USAGE
    assert "did you mean run_gone?" in result.stderr
