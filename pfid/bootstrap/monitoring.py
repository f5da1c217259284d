"""Joins the checks, their controls and the page to the rules that are made of them."""

import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pfid.adapters import promtool
from pfid.adapters.control_client import ControlClient
from pfid.adapters.page import Page
from pfid.bootstrap.far_end import far_end
from pfid.bootstrap.plugin_alerts import Foreign, foreign
from pfid.bootstrap.selftest import take_stock
from pfid.bootstrap.specimen import specimen_page
from pfid.config.model import Config
from pfid.domain.errors import ControlError
from pfid.domain.gate import Gate, GateState
from pfid.domain.outcome import Outcome
from pfid.domain.snapshot import Snapshot
from pfid.formats.exposition import samples
from pfid.monitoring.check_rules import AlertedCheck, of_check
from pfid.monitoring.control_tests import Shown, promtool_data
from pfid.monitoring.dashboard import expressions
from pfid.monitoring.emitted import Emitted, emitted, unknown_selectors
from pfid.monitoring.own_trials import OF_JOBS, OF_PFID
from pfid.monitoring.rule import Alert, Group, Rule, alerts, needed, recorded
from pfid.monitoring.rule_file import EVERY, rule_groups, rules_data
from pfid.monitoring.selectors import series_named
from pfid.monitoring.series_trials import OF_SERIES
from pfid.monitoring.trial import trial_data
from pfid.monitoring.yaml_text import yaml_text
from pfid.policy.control_drive import Bench, drive_controls
from pfid.spec.check import AnyCheck, Stage
from pfid.spec.control import Control
from pfid.wire.control import AlertsLeg, Done

RULES: Final = "rules.yml"
TRIALS: Final = {**OF_PFID, **OF_JOBS, **OF_SERIES}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertResult:
    """Whether a check's alerts fire and stay quiet as its controls say.

    Attributes:
        check: its name; that of the alert where no check brings it.
        controls: how many were put before the rules.
        problem: what promtool or the selectors said, "" if all is well.
    """

    check: str
    controls: int
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether the leg holds."""
        return not self.problem


def monitored(config: Config) -> tuple[AlertedCheck, ...]:
    """Every check that is switched on and watches, third-party ones by their description."""
    registry = take_stock(config, (Stage.WATCH,))
    found: list[AlertedCheck] = [r.check for r in registry.checks]
    found += foreign(registry, config).checks
    return tuple(c for c in found if c.name not in config.disabled_checks)


def shown_controls(check: AnyCheck) -> Iterator[Shown]:
    """Each control of a check, with what the page showed when its verdict had settled."""
    for control in check.built_controls():
        page = control_page(check, control)
        if page is not None:
            yield Shown(
                name=control.name,
                expect=control.expect,
                reason=str(control.reason),
                samples=tuple(samples(page)),
            )


def control_page(check: AnyCheck, control: Control) -> str | None:
    """The page from which a control's verdict is read back; None if it never got there."""
    pages: list[bytes] = []
    page = Page(synthetic=True)

    def render(snapshot: Snapshot) -> bytes:
        pages.append(page.render(snapshot))
        return pages[-1]

    bench = Bench(check=check, far_end=far_end(render), monotonic_s=time.monotonic)
    drive_controls(bench, [control])
    first = pages[0].decode() if pages else ""
    return first if "pfid_check_failing{" in first else None


def alert_legs(
    config: Config,
    only: str | None = None,
    spoil: Callable[[tuple[Group, ...]], tuple[Group, ...]] = lambda groups: groups,
) -> tuple[AlertResult, ...] | None:
    """Put every check's controls before the rules made of it, third-party ones among them.

    Args:
        config: which checks, with which limits.
        only: one check by name.
        spoil: breaks the rules on purpose, to see that this is noticed.

    Returns:
        One result a check; None where promtool is not installed.
    """
    if not promtool.installed():
        return None
    registry = take_stock(config, (Stage.WATCH,))
    own = {r.check.name: r.check for r in registry.checks}
    theirs = Foreign() if only in own else foreign(registry, config)
    every: list[AlertedCheck] = [*own.values(), *theirs.checks]
    checks = [c for c in every if c.name not in config.disabled_checks]
    declared = rule_groups(checks)
    trial = _Trial(declared=declared, groups=spoil(declared))
    results = []
    for name in (c.name for c in checks if only in (None, c.name)):
        shown = tuple(shown_controls(own[name])) if name in own else theirs.shown.get(name, ())
        problem = _unshown(own[name], shown) if name in own else theirs.problem(name)
        results.append(trial.of(name, shown, problem))
    return tuple(results)


def _unshown(check: AnyCheck, shown: Sequence[Shown]) -> str:
    """Controls that never came to the page: without them the rules would be tried on less.

    What does not apply has nothing there.
    """
    there = {one.name for one in shown}
    told = (c for c in check.built_controls() if c.expect is not Outcome.NOT_APPLICABLE)
    missing = [c.name for c in told if c.name not in there]
    return f"never shown on the page: {', '.join(missing)}" if missing else ""


def own_alerts(
    spoil: Callable[[tuple[Group, ...]], tuple[Group, ...]] = lambda groups: groups,
    only: Collection[str] | None = None,
) -> tuple[AlertResult, ...] | None:
    """Put the alerts that no check brings before worlds in which they fire, and quiet ones.

    Args:
        spoil: breaks the rules on purpose, to see that this is noticed.
        only: alerts by name; None for all.

    Returns:
        One result an alert, by its name; None where promtool is not installed.
    """
    if not promtool.installed():
        return None
    declared = rule_groups((), choice=EVERY)
    groups = spoil(declared)
    strangers = selector_problems(groups)
    found = {alert.name: alert for alert in alerts(groups)}
    return tuple(
        _tried(alert, found.get(alert.name), groups, strangers.get(alert.name, ""))
        for alert in alerts(declared)
        if only is None or alert.name in only
    )


def _tried(
    declared: Alert, alert: Alert | None, groups: tuple[Group, ...], stranger: str
) -> AlertResult:
    trial = TRIALS.get(declared.name)
    if trial is None or alert is None:
        return AlertResult(check=declared.name, controls=0, problem="it has no trial")
    rules = (Group(name=alert.name, rules=needed(groups, [alert])),)
    said = _promtool(rules, trial_data(RULES, declared, trial))
    problem = "\n".join(p for p in (stranger, said) if p)
    return AlertResult(check=declared.name, controls=trial.worlds, problem=problem)


def _promtool(rules: tuple[Group, ...], tests: dict[str, Any]) -> str:
    """What promtool says of rules under tests, "" if nothing."""
    with tempfile.TemporaryDirectory(prefix="pfid-alerts-") as folder:
        (Path(folder) / RULES).write_text(yaml_text(rules_data(rules)), encoding="utf-8")
        test_file = Path(folder) / "tests.json"
        test_file.write_text(json.dumps(tests), encoding="utf-8")
        return promtool.test_rules(test_file)


class _Trial:
    """The rules, and what each check declares of them."""

    def __init__(self, *, declared: tuple[Group, ...], groups: tuple[Group, ...]) -> None:
        """Try ``groups``, which are to do what ``declared`` says."""
        self._declared = declared
        self._groups = groups
        self._strangers = selector_problems(groups)

    def of(self, check: str, shown: Sequence[Shown], problem: str) -> AlertResult:
        """Put one check's controls before the rules; a ``problem`` lets it down from the start."""
        brought = of_check(self._groups, check)
        problems = [problem, *(p for a in brought if (p := self._strangers.get(a.name)))]
        rules = (Group(name=check, rules=needed(self._groups, brought)),)
        asked = series_named(rule.expr for rule in rules[0].rules)
        tests = promtool_data(RULES, of_check(self._declared, check), shown, asked)
        problems.append(_promtool(rules, tests))
        return AlertResult(
            check=check, controls=len(shown), problem="\n".join(p for p in problems if p)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriesResult:
    """Whether everything that queries of one place ask for is emitted.

    Attributes:
        of: which place.
        queries: how many there are.
        problem: what asks for what nobody emits, "" if nothing does.
    """

    of: str
    queries: int
    problem: str = ""

    @property
    def ok(self) -> bool:
        """Whether all of it is."""
        return not self.problem


def queries_known() -> tuple[QueriesResult, ...]:
    """Look at what neither a check's controls nor a world of an alert's own drive."""
    groups = rule_groups((), choice=EVERY)
    names = {rule.name for rule in recorded(groups)}
    strange = {n: p for n, p in selector_problems(groups).items() if n in names}
    return (
        QueriesResult(of="recording rules", queries=len(names), problem=_listed(strange)),
        QueriesResult(
            of="dashboard",
            queries=len(list(expressions())),
            problem=_listed(panel_problems(groups)),
        ),
    )


def _listed(problems: Mapping[str, str]) -> str:
    return "\n".join(f"{name}: {problem}" for name, problem in problems.items())


def specimen() -> Emitted:
    """Every series and label that the daemon's page can show."""
    return emitted(samples(specimen_page().decode()))


def page_labels() -> frozenset[str]:
    """Labels that the daemon's page shows; Prometheus puts a target's of such a name first."""
    return frozenset().union(*specimen().labels.values())


def selector_problems(groups: tuple[Group, ...]) -> dict[str, str]:
    """By rule: what it asks for that the daemon never emits."""
    shown = specimen()
    names = frozenset(r.name for r in recorded(groups))
    rules: list[Rule] = [*alerts(groups), *recorded(groups)]
    found = {r.name: "; ".join(unknown_selectors(r.expr, shown, names)) for r in rules}
    return {name: problem for name, problem in found.items() if problem}


def panel_problems(groups: tuple[Group, ...]) -> dict[str, str]:
    """By panel of the dashboard: what it asks for that the daemon never emits."""
    shown = specimen()
    names = frozenset(r.name for r in recorded(groups))
    found = {
        f"{title}: {expr}": "; ".join(unknown_selectors(expr, shown, names))
        for title, expr in expressions()
    }
    return {name: problem for name, problem in found.items() if problem}


def tell_alerts(box: Path, gates: Sequence[Gate]) -> None:
    """Enter the leg into the daemon's gates; a user who may not leaves them as they are."""
    came = {g.key: g.proven_to.alerts for g in gates if g.key and g.proven_to.alerts is not None}
    if came:
        with contextlib.suppress(ControlError), ControlClient(box) as client:
            client.ask(AlertsLeg(results=came), Done)


def with_alerts(gates: Sequence[Gate], results: Sequence[AlertResult] | None) -> tuple[Gate, ...]:
    """Enter what the alerts came to into the gates of the checks that were tried."""
    came = {r.check: r.ok for r in results or ()}
    return tuple(
        replace(g, proven_to=replace(g.proven_to, alerts=came[g.check]))
        if g.check in came and g.state is not GateState.DISABLED
        else g
        for g in gates
    )
