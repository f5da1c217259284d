"""Prometheus's own tools take what is printed, and decide what fires."""

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from pfid.adapters import promtool
from pfid.bootstrap.monitoring import (
    alert_legs,
    monitored,
    panel_problems,
    selector_problems,
)
from pfid.cli.monitoring import command
from pfid.config.model import CheckOptions, Config
from pfid.monitoring.control_tests import filled
from pfid.monitoring.dashboard import dashboard_text
from pfid.monitoring.dashboard_source import build
from pfid.monitoring.rule import Alert, alerts
from pfid.monitoring.rule_file import rule_groups, rules_data
from pfid.monitoring.yaml_text import yaml_text

pytestmark = [pytest.mark.full, pytest.mark.needs("promtool", "amtool")]
BOX = 'job="pfid",instance="box"'


def said(*arguments):
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def tool(*command_line):
    done = subprocess.run(command_line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def groups():
    return rule_groups(monitored(Config()))


def test_promtool_takes_the_rules(tmp_path):
    out = tmp_path / "rules.yml"
    said("rules", "--out", str(out))
    assert promtool.check_rules(out) == ""


def test_promtool_takes_the_scrape_config_and_the_targets(tmp_path):
    targets = tmp_path / "boxes.json"
    said("sd", "box-a:19866", "box-b:19866", "--label", "site=x", "--out", str(targets))
    assert json.loads(targets.read_text())[0]["labels"] == {"site": "x"}
    for arguments in ((), ("box-a:19866",), ("--targets-file", str(targets))):
        out = tmp_path / "prometheus.yml"
        said("scrape-config", *arguments, "--out", str(out))
        tool("promtool", "check", "config", str(out))


def test_promtool_takes_a_scrape_config_over_tls(tmp_path):
    names = ("ca", "cert", "key")
    for name in names:
        (tmp_path / name).touch()
    files = [part for n in names for part in (f"--{n}-file", str(tmp_path / n))]
    out = tmp_path / "prometheus.yml"
    said("scrape-config", *files, "--out", str(out))
    assert 'scheme: "https"' in out.read_text()
    tool("promtool", "check", "config", "--syntax-only", str(out))
    assert "https" in said("scrape-config", "--https")
    assert "tls_config" not in said("scrape-config", "--https")
    half = CliRunner().invoke(command, ("scrape-config", "--cert-file", "x"))
    assert half.exit_code == 2


@pytest.mark.parametrize("target", ["box", "box:", ":1", "box:0", "box:70000", "box:x"])
def test_a_target_that_is_none_is_refused(target):
    assert CliRunner().invoke(command, ("sd", target)).exit_code == 2


def test_alertmanager_takes_its_config(tmp_path):
    out = tmp_path / "alertmanager.yml"
    urls = ("--webhook", "http://localhost:1/a", "--dead-man", "http://localhost:1/b")
    said("alertmanager", *urls, "--out", str(out))
    tool("amtool", "check-config", str(out))


def test_rules_and_panels_ask_for_what_the_page_shows(groups):
    assert selector_problems(groups) == {}
    assert panel_problems(groups) == {}


def test_the_committed_dashboard_is_what_its_source_makes():
    assert dashboard_text() == build()


def test_every_checks_alerts_do_what_its_controls_say():
    results = alert_legs(Config())
    assert {r.check for r in results} == {c.name for c in monitored(Config())}
    assert [(r.check, r.problem) for r in results if not r.ok] == []
    assert all(r.controls >= 3 for r in results)


def spoilt(change):
    """Break the alerts of ``run_gone``."""

    def spoil(groups):
        return tuple(
            replace(g, rules=tuple(change(r) if concerned(r) else r for r in g.rules))
            for g in groups
        )

    def concerned(rule):
        return isinstance(rule, Alert) and rule.labels.get("check") == "run_gone"

    return spoil


@pytest.mark.parametrize(
    "change",
    [
        lambda r: replace(r, expr=r.expr.replace("== 1", "== 2")),
        lambda r: replace(r, expr=r.expr.replace("pfid_check_failing", "pfid_check_unknown")),
        lambda r: replace(r, expr=r.expr.replace("== 1", ">= 0")),
        lambda r: replace(r, for_s=r.for_s + 3600),
        lambda r: replace(r, severity="none"),
        lambda r: replace(r, expr=r.expr + ' or pfid_check_failing{chek="x"}'),
    ],
    ids=["never", "wrong_family", "always", "too_late", "too_low", "misspelt"],
)
def test_a_broken_alert_lets_its_check_down(change):
    (result,) = alert_legs(Config(), "run_gone", spoilt(change))
    assert not result.ok
    assert result.problem


def test_a_disabled_check_brings_no_alert():
    off = Config(checks={"run_gone": CheckOptions(enabled=False)})
    names = {a.name for a in alerts(rule_groups(monitored(off)))}
    assert "PfidRunGone" not in names
    assert "PfidRunStalled" in names


NOW = "pfid_time_seconds{" + BOX + "}"
AT = 1_000_000
RISING = f"{AT}+60x60"
DROPPED = f'pfid_dropped_series_total{{{BOX},family="pfid_run_info"}}'
PROOF = f'pfid_selftest_last_success_timestamp_seconds{{{BOX},leg="controls"}}'
RANKED = [
    (
        (
            f'pfid_run_info{{job="pfid",instance="{box}",run="{run}",job_id="7",rank="{rank}",name="n",'
            'username="u"}'
        ),
        "1+0x60",
    )
    for box, run, rank in (("a", "r0", 0), ("b", "r1", 1), ("c", "r2", 2))
]


def step_rates(*seconds):
    """Step sums and counts of three ranks, by the seconds a step takes on each."""
    for box, run, s in zip("abc", ("r0", "r1", "r2"), seconds, strict=True):
        labels = f'{{job="pfid",instance="{box}",run="{run}"}}'
        yield f"pfid_step_duration_seconds_sum{labels}", f"0+{60 * s}x60"
        yield f"pfid_step_duration_seconds_count{labels}", "0+60x60"


def worlds(size):
    for box, run in zip("abc", ("r0", "r1", "r2"), strict=True):
        yield f'pfid_run_world_size{{job="pfid",instance="{box}",run="{run}"}}', f"{size}+0x60"


def simple(metric, bad, good, labels="", **about):
    series = f"{metric}{{{BOX}{labels}}}"
    return [(series, bad)], [(series, good)], about


OWN = {
    "Watchdog": ([], None, {}),
    "PfidDown": simple("up", "0+0x60", "1+0x60"),
    "PfidAbsent": ([], [(f"up{{{BOX}}}", "0+0x60")], {}),
    "PfidLoopStalled": (
        [(NOW, RISING), (f"pfid_loop_last_iteration_timestamp_seconds{{{BOX}}}", f"{AT}+0x60")],
        [(NOW, RISING), (f"pfid_loop_last_iteration_timestamp_seconds{{{BOX}}}", RISING)],
        {},
    ),
    "PfidSamplerStale": (
        [
            (NOW, RISING),
            (f'pfid_sampler_last_success_timestamp_seconds{{{BOX},sampler="steps"}}', f"{AT}+0x60"),
            (f'pfid_sampler_interval_seconds{{{BOX},sampler="steps"}}', "1+0x60"),
        ],
        [
            (NOW, RISING),
            (f'pfid_sampler_last_success_timestamp_seconds{{{BOX},sampler="steps"}}', RISING),
            (f'pfid_sampler_interval_seconds{{{BOX},sampler="steps"}}', "1+0x60"),
        ],
        {"sampler": "steps"},
    ),
    "PfidSelftestFailed": simple(
        "pfid_gates", "2+0x60", "0+0x60", ',state="unproven"', state="unproven"
    ),
    "PfidSelftestOverdue": (
        [(NOW, RISING), (PROOF, f"{AT - 10 * 86_400}+0x60")],
        [(NOW, RISING), (PROOF, f"{AT - 7 * 86_400}+0x60"), (f"pfid_ready{{{BOX}}}", "1+0x60")],
        {"leg": "controls"},
    ),
    "PfidGateUnproven": simple(
        "pfid_gate_proven", "0+0x60", "1+0x60", ',check="c",leg="live"', check="c", leg="live"
    ),
    "PfidNotReady": simple("pfid_ready", "0+0x60", "1+0x60"),
    "PfidRestarting": (
        [
            (f"process_start_time_seconds{{{BOX}}}", "1+1x60"),
            (f"pfid_build_info{{{BOX}}}", "1+0x60"),
        ],
        [
            (f"process_start_time_seconds{{{BOX}}}", "1+0x60"),
            (f"pfid_build_info{{{BOX}}}", "1+0x60"),
        ],
        {},
    ),
    "PfidConfigReloadFailed": simple("pfid_config_last_reload_successful", "0+0x60", "1+0x60"),
    "PfidStateNotWritable": simple("pfid_store_writable", "0+0x60", "1+0x60"),
    "PfidPluginErrors": simple(
        "pfid_plugin_errors_total", "0+1x60", "3+0x60", ',plugin="p"', plugin="p"
    ),
    "PfidPluginWorkerEnds": simple(
        "pfid_plugin_worker_ends_total", "0+1x60", "0 1 2+0x58", ',cause="crashed"', cause="crashed"
    ),
    "PfidCheckErrors": simple(
        "pfid_check_errors_total", "0+1x60", "3+0x60", ',check="c"', check="c"
    ),
    "PfidPageErrors": simple("pfid_page_errors_total", "0+1x60", "3+0x60", ',group="g"', group="g"),
    "PfidNotificationsFailing": simple(
        "pfid_notifications_failed_total", "0+1x60", "3+0x60", ',channel="c"', channel="c"
    ),
    "PfidSeriesLimited": ([(DROPPED, "0+1x60")], [(DROPPED, "5+0x60")], {}),
    "PfidRankSlow": (
        [*RANKED, *step_rates(1, 1, 2)],
        [*RANKED, *step_rates(1, 1.2, 1.4)],
        {"instance": "c", "run": "r2", "rank": "2", "job_id": "7"},
    ),
    "PfidRankMissing": (
        [*RANKED, *worlds(4)],
        [*RANKED, *worlds(3)],
        {"job_id": "7", "instance": None},
    ),
}
EVERY_S = 60
VALUE = re.compile(r"\{\{ \$value.*?\}\}")
SAYS = {
    "PfidLoopStalled": "30m 0s",
    "PfidSamplerStale": "30m 0s",
    "PfidSelftestFailed": "2",
    "PfidRestarting": "30",
    "PfidRankSlow": "2.00",
    "PfidRankMissing": "3",
}
AT_LENGTH_S = 1_800


def expected(alert, about):
    target = {"job": "pfid", "instance": "box", **about}
    if alert.name in {"Watchdog", "PfidAbsent"}:
        target = {"job": "pfid"} if alert.name == "PfidAbsent" else {}
    labels = {"severity": alert.severity, **{k: v for k, v in target.items() if v}}
    said = {
        name: VALUE.sub(SAYS.get(alert.name, ""), filled(text, labels))
        for name, text in alert.annotations.items()
    }
    return [{"exp_labels": labels, "exp_annotations": said}]


def promtool_test(name, series, moments):
    return {
        "name": name,
        "interval": f"{EVERY_S}s",
        "input_series": [{"series": s, "values": v} for s, v in series],
        "alert_rule_test": moments,
    }


@pytest.mark.parametrize("name", sorted(OWN))
def test_every_alert_about_pfid_fires_after_its_for_and_stays_quiet(name, groups, tmp_path):
    fires, quiet, about = OWN[name]
    alert = next(a for a in alerts(groups) if a.name == name)
    wanted = expected(alert, about)
    late = {"eval_time": f"{AT_LENGTH_S}s", "alertname": name}
    tests = [promtool_test("fires", fires, [{**late, "exp_alerts": wanted}])]
    if alert.for_s:
        early = {"eval_time": f"{alert.for_s - EVERY_S}s", "alertname": name, "exp_alerts": []}
        tests[0]["alert_rule_test"].insert(0, early)
    if quiet is not None:
        tests.append(promtool_test("quiet", quiet, [{**late, "exp_alerts": []}]))
    (tmp_path / "rules.yml").write_text(yaml_text(rules_data(groups)))
    file = tmp_path / "test.json"
    file.write_text(
        json.dumps(
            {"rule_files": ["rules.yml"], "evaluation_interval": f"{EVERY_S}s", "tests": tests}
        )
    )
    assert promtool.test_rules(Path(file)) == ""


def test_no_alert_is_without_its_test(groups):
    of_checks = {a.name for a in alerts(groups) if "check" in a.labels}
    assert {a.name for a in alerts(groups)} - of_checks == set(OWN)
