"""Prometheus's own tools take what is printed, and decide what fires."""

import json
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
from pfid.monitoring.rule import Alert, Recorded, alerts
from pfid.monitoring.rule_file import EVERY, rule_groups

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


PAGE = """
[page]
listen = {listen}
[tls_server_config]
cert_file = "{cert}"
key_file = "{cert}"
"""


def configured(tmp_path, listen, cert=""):
    path = tmp_path / "pfid.toml"
    path.write_text(PAGE.format(listen=json.dumps(listen), cert=cert))
    return ("scrape-config", "--config", str(path))


@pytest.mark.parametrize(
    ("listen", "target"),
    [
        (["192.0.2.7:20001"], "192.0.2.7:20001"),
        (["127.0.0.1:0", "[2001:db8::1]:9", "127.0.0.1:8"], "[2001:db8::1]:9"),
        (["0.0.0.0:20001"], "127.0.0.1:20001"),
        (["[::]:20001"], "[::1]:20001"),
    ],
)
def test_the_job_of_this_box_is_at_the_address_of_its_page(tmp_path, listen, target):
    """It is one target, however many addresses the page has: two would be two boxes."""
    asked = configured(tmp_path, listen)
    assert said(*asked) == said("scrape-config", target)
    assert f'"{target}"' in said(*asked)


def test_the_job_is_over_tls_where_the_configuration_is(tmp_path):
    asked = configured(tmp_path, ["192.0.2.7:20001"], cert="/etc/pfid/page.pem")
    assert said(*asked) == said("scrape-config", "192.0.2.7:20001", "--https")
    assert 'scheme: "https"' in said(*asked, "box-a:19866")
    assert said(*asked, "--http") == said("scrape-config", "192.0.2.7:20001")


@pytest.mark.parametrize("listen", [[], ["127.0.0.1:0"]])
def test_where_there_is_no_page_to_scrape_no_job_is_made_up(tmp_path, listen):
    asked = configured(tmp_path, listen)
    done = CliRunner().invoke(command, asked)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "page.listen" in done.stderr
    assert "box-a:1" in said(*asked, "box-a:1")
    assert "boxes.json" in said(*asked, "--targets-file", "boxes.json")


def test_certificates_for_plain_http_are_refused():
    done = CliRunner().invoke(command, ("scrape-config", "--http", "--ca-file", "x"))
    assert (done.exit_code, done.stdout) == (2, "")


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


@pytest.mark.parametrize(
    "labels",
    [
        *(("__address__=x",), ("__scheme__=https",), ("site=x", "site=y"), ("site=x", "site=x")),
        *(("run=x",), ("check=x",), ("gpu=x",), ("le=1",)),
    ],
)
def test_a_label_that_moves_the_target_hides_one_of_ours_or_is_given_twice_is_refused(labels):
    options = [part for label in labels for part in ("--label", label)]
    done = CliRunner().invoke(command, ("sd", "box-a:1", *options))
    assert (done.exit_code, done.stdout) == (2, "")
    assert labels[0].partition("=")[0] in done.stderr


NO_URLS = (
    *("nonsense", "", "file:///etc/passwd", "http://", "http:// x", "http://?x", "http://@/"),
    *("http://a:b/", "http://a:0/", "http://a:70000/", "http://:9/", "http://[::1/", "http://::1/"),
    *(
        "http://a{b}/",
        "http://a^b/",
        "http://a%41/",
        "http://a/%zz",
        "http://a/#%4",
        "http://a/\x01",
    ),
    "http://a/\ud800",
)


@pytest.mark.parametrize("url", NO_URLS)
def test_a_receiver_that_is_no_url_is_refused(url):
    good = "https://example.org/x"
    for first, second in ((url, good), (good, url)):
        done = CliRunner().invoke(
            command, ("alertmanager", "--webhook", first, "--dead-man", second)
        )
        assert (done.exit_code, done.stdout) == (2, "")


@pytest.mark.parametrize(
    "url",
    [
        *("http://a", "https://box-a.example.org:8443/x/y?z=1&q=2", "http://[::1]:9/x"),
        *("http://anna:pa%20ss@a_b/", "http://a?x", "http://a/%41é{}|#x"),
    ],
)
def test_alertmanager_takes_every_url_that_is_let_through(tmp_path, url):
    out = tmp_path / "alertmanager.yml"
    said("alertmanager", "--webhook", url, "--dead-man", url, "--out", str(out))
    tool("amtool", "check-config", str(out))


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


def test_promtool_takes_the_rules_with_everything_that_can_be_asked_for(tmp_path):
    out = tmp_path / "rules.yml"
    more = [part for name in sorted(EVERY.more) for part in ("--with", name)]
    said("rules", *more, "--out", str(out))
    assert promtool.check_rules(out) == ""
    assert all(name in out.read_text() for name in EVERY.more)
