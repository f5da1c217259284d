"""Two alerts a check, made of the check itself: a new check file brings its own.

One for the family of reasons that fail, one, less loud, for those that mean nobody could look. A
reason that its check declares to be milder has one of its own, as loud as is declared.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from pfid.monitoring.own_rules import OWN_NAMES
from pfid.monitoring.rule import NONE, Alert, Group
from pfid.monitoring.run_rules import ENDED, FAILING, IDENTITY, KEPT, LAST_HEARD
from pfid.monitoring.series_rules import NAMES as SERIES_NAMES
from pfid.spec.check import Scope, Severity, Stage

FOR_S: Final = {Severity.CRITICAL: 0, Severity.WARNING: 60, Severity.INFO: 300}
"""Hysteresis has confirmed a verdict before it is exported; what is critical fires at once."""
UNKNOWN_FOR_S: Final = 600
LOWER: Final = {
    Severity.CRITICAL: Severity.WARNING.value,
    Severity.WARNING: Severity.INFO.value,
    Severity.INFO: NONE,
}
GROUP: Final = "pfid-checks"
_WHEN_IT_FIRES: Final = re.compile(r"When it fires:\s*(.*?)(?:\n\s*\n|\Z)", re.DOTALL)
_OPENING: Final = re.compile(r"\AFails? (?:when|where|if|on) ")


class AlertedCheck(Protocol):
    """What an alert is made of; true of a Check and of its description alone."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def stage(self) -> Stage:
        """When it runs."""
        ...

    @property
    def scope(self) -> Scope:
        """What it is asked about."""
        ...

    @property
    def severity(self) -> Severity:
        """How loudly it fails."""
        ...

    @property
    def milder(self) -> Mapping[str, Severity]:
        """Reasons that fail less loudly."""
        ...

    @property
    def runbook(self) -> str:
        """What it fails on, its blind spot, what to do."""
        ...


def check_group(checks: Iterable[AlertedCheck]) -> Group:
    """The alerts of every check that has series to alert on: those that watch."""
    watching = sorted((c for c in checks if c.stage is Stage.WATCH), key=lambda c: c.name)
    return Group(name=GROUP, rules=tuple(rule for c in watching for rule in _brought(c)))


def alert_name(check: str) -> str:
    """CamelCase with the prefix; never the name of an alert that no check brings."""
    name = "Pfid" + "".join(word.capitalize() for word in check.split("_"))
    taken = name in OWN_NAMES or name in SERIES_NAMES
    return f"PfidCheck{name.removeprefix('Pfid')}" if taken else name


def unknown_name(check: str) -> str:
    """The alert of a check that could not look."""
    return alert_name(check) + "Unknown"


def reason_name(check: str, reason: str) -> str:
    """The alert of a reason that fails less loudly than its check."""
    return alert_name(check) + "".join(word.capitalize() for word in reason.split("_"))


def _brought(check: AlertedCheck) -> Iterator[Alert]:
    """One for what fails as loudly as the check, one for each milder reason, one for UNKNOWN."""
    labels = {"check": check.name, "stage": check.stage.value}
    about = _about(check)
    loud = Alert(
        name=alert_name(check.name),
        expr=_failing(check, _but(check.milder)),
        for_s=FOR_S[check.severity],
        severity=check.severity.value,
        summary=summary(check),
        description=f"Check {check.name} fails{about}: {{{{ $labels.reason }}}}.",
        runbook=runbook(check),
        labels=labels,
    )
    yield loud
    for reason, severity in check.milder.items():
        yield replace(
            loud,
            name=reason_name(check.name, reason),
            expr=_failing(check, f',reason="{reason}"'),
            for_s=FOR_S[severity],
            severity=severity.value,
            summary=f"Check {check.name} fails in a milder way: {reason.replace('_', ' ')}.",
            labels={**labels, "reason": reason},
        )
    yield Alert(
        name=unknown_name(check.name),
        expr=_unknown(check),
        for_s=UNKNOWN_FOR_S,
        severity=LOWER[check.severity],
        summary=f"Check {check.name} has not been able to look for ten minutes.",
        description=f"Nobody can tell whether check {check.name} would fail{about}; "
        "`pfid status` names the reason.",
        runbook=f"`pfid checks explain {check.name}` says what it reads and when it cannot.",
        labels=labels,
    )


def _about(check: AlertedCheck) -> str:
    return " on {{ $labels.instance }}" if check.scope is Scope.BOX else _ABOUT


_ABOUT: Final = (
    "{{ with $labels.run }} about run {{ $labels.name }} of {{ $labels.username }}"
    " ({{ $labels.run }}){{ end }}{{ with $labels.uuid }} about GPU {{ $labels.uuid }}{{ end }}"
    " on {{ $labels.instance }}"
)
"""A check of runs may find fault with a GPU; then the verdict carries no run."""


def _but(milder: Iterable[str]) -> str:
    return "".join(f',reason!="{reason}"' for reason in milder)


def _failing(check: AlertedCheck, reasons: str) -> str:
    """What fails now, or did when pfid was last heard: that nobody looks is no recovery."""
    which = f'{FAILING}{{check="{check.name}"{reasons}}}'
    last = f"last_over_time({which}[{KEPT}]) == on (job, instance) group_left () {LAST_HEARD}"
    return f"{which} or ({last})"


def _unknown(check: AlertedCheck) -> str:
    if check.scope is Scope.BOX:
        return f'pfid_check_unknown{{check="{check.name}"}} == 1'
    of_run = f'(pfid_check_unknown{{check="{check.name}",run!=""}} == 1) {IDENTITY}'
    others = f'pfid_check_unknown{{check="{check.name}",run=""}} == 1'
    return f"(({of_run}) unless on (job, instance, run) {ENDED}) or ({others})"


def summary(check: AlertedCheck) -> str:
    """The first sentence of the check's runbook, as what is the case."""
    first = " ".join(check.runbook.strip().partition("\n\n")[0].split())
    sentence = re.split(r"(?<=[.!?])\s", first, maxsplit=1)[0]
    said = _OPENING.sub("", sentence)
    return _plain(said[:1].upper() + said[1:])


def runbook(check: AlertedCheck) -> str:
    """What its author says to do, and where the rest is."""
    found = _WHEN_IT_FIRES.search(check.runbook)
    todo = " ".join(found[1].split()) if found else ""
    more = f"`pfid checks explain {check.name}` says what it cannot see."
    return _plain(f"{todo} {more}".strip())


def _plain(text: str) -> str:
    """One kind of quote; and text of a plugin is not to become a template of Prometheus."""
    return text.replace("``", "`").replace("{{", "{ {").replace("}}", "} }")


def of_check(groups: Sequence[Group], check: str) -> tuple[Alert, ...]:
    """The alerts a check brought."""
    group = next(g for g in groups if g.name == GROUP)
    return tuple(r for r in group.rules if isinstance(r, Alert) and r.labels.get("check") == check)
