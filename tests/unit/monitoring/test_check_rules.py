"""A check's alerts are made of the check: its severity, its words, its entity."""

from types import SimpleNamespace

import pytest

from pfid.monitoring.check_rules import alert_name, check_group, of_check, runbook, summary
from pfid.monitoring.rule_file import rule_groups
from pfid.spec.check import Scope, Severity, Stage


def check(name="disk_full", **given):
    defaults = {
        "stage": Stage.WATCH,
        "scope": Scope.RUN,
        "severity": Severity.WARNING,
        "milder": {},
        "runbook": "Fail when a disk\nis full. Really.\n\nBlind spot: none.\n\n"
        "When it fires: make\nroom.\n\nMore.",
    }
    return SimpleNamespace(name=name, **{**defaults, **given})


def both(**given):
    one = check(**given)
    return of_check((check_group([one]),), one.name)


def test_a_check_brings_a_failing_and_an_unknown_alert():
    failing, unknown = both()
    assert (failing.name, unknown.name) == ("PfidDiskFull", "PfidDiskFullUnknown")
    assert failing.summary == "A disk is full."
    assert failing.runbook.startswith("make room.")


@pytest.mark.parametrize(
    ("severity", "lower", "for_s"),
    [
        (Severity.CRITICAL, "warning", 0),
        (Severity.WARNING, "info", 60),
        (Severity.INFO, "none", 300),
    ],
)
def test_unknown_is_one_step_less_loud_and_critical_fires_at_once(severity, lower, for_s):
    failing, unknown = both(severity=severity)
    assert (failing.severity, failing.for_s) == (severity.value, for_s)
    assert (unknown.severity, unknown.for_s) == (lower, 600)


def test_a_milder_reason_has_an_alert_of_its_own_and_does_not_raise_the_other():
    failing, milder, unknown = both(milder={"nearly_full": Severity.INFO})
    assert milder.name == "PfidDiskFullNearlyFull"
    assert (milder.severity, milder.for_s, unknown.severity) == ("info", 300, "info")
    assert milder.labels == {**failing.labels, "reason": "nearly_full"}
    assert 'reason="nearly_full"' in milder.expr
    assert 'reason!="nearly_full"' in failing.expr
    assert "nearly full" in milder.summary


@pytest.mark.parametrize("stage", [Stage.PREFLIGHT, Stage.VIABILITY, Stage.RESULT])
def test_a_check_that_has_no_series_brings_no_alert(stage):
    assert check_group([check(stage=stage)]).rules == ()


def test_no_check_takes_the_name_of_an_alert_about_pfid():
    assert alert_name("down") == "PfidCheckDown"
    assert alert_name("run_gone") == "PfidRunGone"


def test_a_plugins_text_does_not_become_a_template():
    hostile = check(runbook="Fail when {{ query `up` }} says so.")
    assert "{{" not in summary(hostile)
    assert "{{" not in runbook(hostile)


def test_every_rule_says_what_it_is_and_what_to_do():
    for group in rule_groups([check()]):
        for rule in group.rules:
            data = rule.data()
            if "record" in data:
                assert data["record"].count(":") == 2
                continue
            assert data["labels"]["severity"] in {"critical", "warning", "info", "none"}
            assert set(data["annotations"]) == {"summary", "description", "runbook"}
            assert all(data["annotations"].values())
            assert "{{" not in data["annotations"]["summary"]
            assert data["alert"] == "Watchdog" or data["alert"].startswith("Pfid")


def test_names_are_unique():
    names = [r.name for g in rule_groups([check(), check("b")]) for r in g.rules]
    assert len(names) == len(set(names))
