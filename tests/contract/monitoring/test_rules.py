"""Prometheus's own tools take what is printed, and decide what fires."""

import json
import re
import subprocess
from dataclasses import replace

import pytest
from click.testing import CliRunner
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from pfid.adapters import promtool
from pfid.bootstrap import monitoring
from pfid.bootstrap.monitoring import (
    alert_legs,
    monitored,
    own_alerts,
    panel_problems,
    queries_known,
    selector_problems,
)
from pfid.cli.monitoring import command
from pfid.config.model import CheckOptions, Config
from pfid.domain.outcome import Outcome
from pfid.monitoring import rule_file
from pfid.monitoring.dashboard import dashboard_text
from pfid.monitoring.dashboard_source import build
from pfid.monitoring.own_rules import WORKER_ENDS
from pfid.monitoring.rule import Alert, Recorded, alerts
from pfid.monitoring.rule_file import EVERY, rule_groups
from pfid.monitoring.series_rules import ALWAYS, IF_ASKED

pytestmark = [pytest.mark.full, pytest.mark.needs("promtool", "amtool")]


def said(*arguments):
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def tool(*command_line):
    done = subprocess.run(command_line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def groups():
    return rule_groups(monitored(Config()), choice=EVERY)


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


def test_the_sample_limit_follows_the_runs_that_the_page_may_have(tmp_path):
    config = tmp_path / "pfid.toml"
    config.write_text("[page]\nexported_runs_max = 300\n")
    assert said("scrape-config", "--config", str(config)) == said("scrape-config", "--runs", "300")
    assert said("scrape-config") == said("scrape-config", "--runs", "64")
    assert said("scrape-config", "--runs", "65") != said("scrape-config")


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


NO_TARGETS = ("box", "box:", ":1", "box:0", "box:70000", "box:x", "::1:9", "a b:9", "http://x:9")


@pytest.mark.parametrize("target", NO_TARGETS)
def test_a_target_that_is_none_is_refused(target):
    assert CliRunner().invoke(command, ("sd", target)).exit_code == 2


@pytest.mark.parametrize("job", ['a"b', "a\\", "a\nb", "", "a{{b}}", "a{b}"])
def test_a_job_that_would_be_read_as_something_else_is_refused(job):
    for which in ("rules", "scrape-config"):
        done = CliRunner().invoke(command, (which, "--job", job))
        assert (done.exit_code, done.stdout) == (2, "")
        assert "--job" in done.stderr


def test_another_job_is_in_all_that_is_printed_and_taken(tmp_path):
    out = tmp_path / "rules.yml"
    said("rules", "--job", "gpu boxes/ü-1", "--out", str(out))
    assert promtool.check_rules(out) == ""
    assert 'job=\\"gpu boxes/ü-1\\"' in out.read_text()
    said("scrape-config", "[::1]:19866", "--job", "gpu boxes/ü-1", "--out", str(out))
    tool("promtool", "check", "config", "--syntax-only", str(out))


@pytest.mark.parametrize("url", ["nonsense", "", "file:///etc/passwd", "http://", "http:// x"])
def test_a_receiver_that_is_no_url_is_refused(url):
    good = "https://example.org/x"
    for first, second in ((url, good), (good, url)):
        done = CliRunner().invoke(
            command, ("alertmanager", "--webhook", first, "--dead-man", second)
        )
        assert (done.exit_code, done.stdout) == (2, "")


def test_alertmanager_takes_its_config(tmp_path):
    out = tmp_path / "alertmanager.yml"
    urls = ("--webhook", "http://localhost:1/a", "--dead-man", "http://localhost:1/b")
    said("alertmanager", *urls, "--out", str(out))
    tool("amtool", "check-config", str(out))


def test_rules_and_panels_ask_for_what_the_page_shows(groups):
    assert selector_problems(groups) == {}
    assert panel_problems(groups) == {}


def test_a_query_for_what_nobody_emits_is_named_with_where_it_stands(monkeypatch):
    assert [(r.of, r.problem) for r in queries_known()] == [
        ("recording rules", ""),
        ("dashboard", ""),
    ]
    strange = [("Speed", "pfid_gpu_sped{job=~'.*'}"), ("Fine", "pfid_gpu_up")]
    monkeypatch.setattr(monitoring, "expressions", lambda: iter(strange))
    bad = Recorded(name="a:b:c", expr='pfid_runs{state="runing"}')
    monkeypatch.setattr(rule_file, "RUN_FACTS", (*rule_file.RUN_FACTS, bad))
    rules, panels = queries_known()
    assert rules.problem == "a:b:c: no state is ever runing"
    assert (panels.queries, panels.ok) == (2, False)
    assert panels.problem.startswith("Speed: ")
    assert "nobody emits pfid_gpu_sped" in panels.problem
    assert "Fine" not in panels.problem


def test_the_committed_dashboard_is_what_its_source_makes():
    assert dashboard_text() == build()


def test_the_dashboard_is_one_by_grafanas_own_types():
    """Read into them and written again it is the same: no key that Grafana would not know."""
    read = Dashboard.from_json(json.loads(dashboard_text()))
    again = JSONEncoder(sort_keys=True, indent=2).encode(read) + "\n"
    assert again == dashboard_text()


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
        lambda r: replace(r, expr=f"({r.expr}) > 1e30"),
        lambda r: replace(r, expr='pfid_check_unknown{check="run_gone"} == 1'),
        lambda r: replace(r, expr=f'({r.expr}) or pfid_check_failing{{check="run_gone"}}'),
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


def test_a_control_that_never_came_to_the_page_lets_its_check_down(monkeypatch):
    """Else the rules would be tried on those alone that are left: on nothing that fails."""
    real = monitoring.control_page

    def page(check, control):
        return None if control.expect is Outcome.FAIL else real(check, control)

    monkeypatch.setattr(monitoring, "control_page", page)
    (result,) = alert_legs(Config(), "run_gone")
    assert not result.ok
    assert result.problem.startswith("never shown on the page: ")


def test_a_disabled_check_brings_no_alert():
    off = Config(checks={"run_gone": CheckOptions(enabled=False)})
    names = {a.name for a in alerts(rule_groups(monitored(off)))}
    assert "PfidRunGone" not in names
    assert "PfidRunStalled" in names


def test_every_alert_that_no_check_brings_does_what_its_worlds_say(groups):
    results = own_alerts()
    of_checks = {a.name for a in alerts(groups) if "check" in a.labels}
    every = {a.name for a in alerts(rule_groups(monitored(Config()), choice=EVERY))}
    assert {r.check for r in results} == every - of_checks
    assert [(r.check, r.problem) for r in results if not r.ok] == []
    assert {r.check for r in results if r.controls < 2} == {"Watchdog"}, "each is quiet somewhere"


BREAKS = {
    "never": lambda r: replace(r, expr=f"({r.expr}) > 1e30"),
    "always": lambda r: replace(r, expr="vector(1)"),
    "misspelt": lambda r: replace(r, expr=r.expr + ' or pfid_ready{chek="x"}'),
    "too_late": lambda r: replace(r, for_s=r.for_s + 180),
    "too_early": lambda r: replace(r, for_s=0),
    "too_low": lambda r: replace(r, severity="other"),
    "other_words": lambda r: replace(r, description=r.description + "?"),
}
OF_EACH = {"never", "always", "misspelt"}
"""Breaks that every alert is tried with; the others with some, since the way is the same."""


def changed(change, name_of_group=None):
    """Rules with every alert, or those of one group, changed."""

    def spoil(groups):
        return tuple(
            replace(g, rules=tuple(change(r) if isinstance(r, Alert) else r for r in g.rules))
            if name_of_group in (None, g.name)
            else g
            for g in groups
        )

    return spoil


@pytest.mark.parametrize("how", BREAKS)
def test_every_broken_alert_that_no_check_brings_is_noticed(how):
    only = None if how in OF_EACH else {a.name for a in ALWAYS}
    results = own_alerts(changed(BREAKS[how]), only)
    assert len(results) >= len(ALWAYS)
    whole = {r.check for r in results if r.ok}
    assert whole == ({"Watchdog"} if how == "always" else set())


def test_an_alert_that_is_left_out_of_the_rules_has_not_been_tried():
    def spoil(groups):
        return tuple(
            replace(g, rules=tuple(r for r in g.rules if r.name != "PfidGpuHeldIdle"))
            for g in groups
        )

    (result,) = own_alerts(spoil, {"PfidGpuHeldIdle"})
    assert result.problem == "it has no trial"


@pytest.mark.parametrize("field", ["<", "and on", "> 0.1", "> 0.05", "> 0)"])
def test_every_condition_of_an_alert_straight_from_series_is_tried(field):
    """Each with the condition the other way round."""
    other = {"<": ">=", "and on": "or on"}.get(field, field.replace(">", "<="))
    concerned = {a.name for a in (*ALWAYS, *IF_ASKED) if field in a.expr}
    spoil = changed(lambda r: replace(r, expr=r.expr.replace(field, other)), "pfid-series")
    assert concerned
    assert {r.check for r in own_alerts(spoil, concerned) if not r.ok} == concerned


NUMBER = re.compile(r"(?<!pfid_build_info offset )(?<![\w:.])\d+(?:\.\d+)?(?![\d.])")
LIMITED = {
    "PfidGpuHeldIdle",
    "PfidGpuHeldIdleUnknown",
    "PfidGpuTemperatureHigh",
    "PfidLoopStalled",
    "PfidNotificationsFailing",
    "PfidPluginWorkerEnds",
    "PfidRankSlow",
    "PfidRestarting",
    "PfidRunHostMemoryHigh",
    "PfidSamplerStale",
    "PfidSelftestFailed",
    "PfidSelftestOverdue",
}
"""Every one with a limit, and of those about counters one of each window: they are made alike.

When a box was first seen has no tenth: an alert waits longer than that for its `for`.
"""


def moved(limit, share):
    """A limit a tenth away; of what is counted the next number."""
    if limit == f"{WORKER_ENDS}.5":
        return str(float(limit) + (1 if share > 1 else -1))
    if "." in limit:
        return f"{float(limit) * share:g}"
    return str(int(limit) + max(int(int(limit) * 0.1), 1) * (1 if share > 1 else -1))


def test_the_alerts_with_limits_are_those_that_are_tried(groups):
    of_checks = {a.name for a in alerts(groups) if "check" in a.labels}
    every = [a for a in alerts(rule_groups((), choice=EVERY)) if a.name not in of_checks]
    limited = {a.name for a in every if re.search(r"[<>] (\d|on)", a.expr)}
    counted = {a.name for a in every if "increase(" in a.expr}
    assert limited - counted | {"PfidNotificationsFailing", "PfidPluginWorkerEnds"} == LIMITED
    assert LIMITED & counted


@pytest.mark.parametrize("share", [0.9, 1.1])
def test_a_limit_that_is_a_tenth_away_is_noticed(share):
    """Each number of each alert, by its place in the expression."""
    found = [a for a in alerts(rule_groups((), choice=EVERY)) if a.name in LIMITED]
    for place in range(max(len(NUMBER.findall(a.expr)) for a in found)):
        concerned = {a.name for a in found if len(NUMBER.findall(a.expr)) > place}

        def change(rule, place=place):
            at = [m.span() for m in NUMBER.finditer(rule.expr)][place : place + 1]
            for begin, end in at:
                new = moved(rule.expr[begin:end], share)
                return replace(rule, expr=rule.expr[:begin] + new + rule.expr[end:])
            return rule

        whole = {r.check for r in own_alerts(changed(change), concerned) if r.ok}
        assert not whole, f"number {place} of each"


@pytest.mark.parametrize("reason", ["hw_slowdown", "hw_thermal", "hw_power_brake", "sw_thermal"])
def test_a_reason_that_is_misspelt_or_left_out_is_noticed(reason):
    """By its name, and by the alert that is missing where the name is one there is."""
    (name,) = {a.name for a in (*ALWAYS, *IF_ASKED) if reason in a.expr}
    for other, said in ((f"{reason}s", f"no reason is ever {reason}s"), ("sw_power_cap", "exp:")):
        spoil = changed(lambda r, o=other: replace(r, expr=r.expr.replace(reason, o)))
        (result,) = own_alerts(spoil, {name})
        assert said in result.problem


@pytest.mark.parametrize("name", ["PfidSamplerStale", "PfidSelftestOverdue"])
def test_each_half_of_an_alert_with_two_is_tried(name):
    halves = (
        lambda expr: expr.partition(") or (")[0] + ")",
        lambda expr: "(" + expr.partition(") or (")[2],
    )
    for half in halves:
        (result,) = own_alerts(changed(lambda r, half=half: replace(r, expr=half(r.expr))), {name})
        assert "exp:" in result.problem, result.problem


def test_promtool_takes_the_rules_with_everything_that_can_be_asked_for(tmp_path):
    out = tmp_path / "rules.yml"
    more = [part for name in sorted(EVERY.more) for part in ("--with", name)]
    said("rules", *more, "--out", str(out))
    assert promtool.check_rules(out) == ""
    assert all(name in out.read_text() for name in EVERY.more)
