"""The alerts that no check brings: each fires and is quiet as its worlds say, and a break shows."""

import re
from dataclasses import replace

import pytest

from pfid.bootstrap.monitoring import monitored, own_alerts
from pfid.config.model import Config
from pfid.monitoring.own_rules import WORKER_ENDS
from pfid.monitoring.rule import Alert, alerts
from pfid.monitoring.rule_file import EVERY, rule_groups
from pfid.monitoring.series_rules import ALWAYS, IF_ASKED

pytestmark = [pytest.mark.full, pytest.mark.needs("promtool")]


@pytest.fixture(scope="module")
def groups():
    return rule_groups(monitored(Config()), choice=EVERY)


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
    "PfidRunsUnread",
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
