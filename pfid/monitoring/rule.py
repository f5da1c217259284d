"""What Prometheus is given: alerts and recorded series, as data."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

NONE: Final = "none"
"""Severity of an alert that is no trouble: the dead man's switch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alerting rule.

    Attributes:
        name: CamelCase with the prefix ``Pfid``.
        expr: PromQL.
        for_s: seconds it must hold before it fires; 0 for events.
        severity: critical, warning, info or none.
        summary: one fixed sentence.
        description: with the labels or the value in it.
        runbook: what to do.
        labels: beside ``severity``.
        keep_s: seconds it goes on when there is nothing to see any more.
    """

    name: str
    expr: str
    for_s: int
    severity: str
    summary: str
    description: str
    runbook: str
    labels: Mapping[str, str] = field(default_factory=dict)
    keep_s: int = 0

    @property
    def annotations(self) -> dict[str, str]:
        """As Prometheus takes them; each is a template."""
        return {
            "summary": self.summary,
            "description": self.description,
            "runbook": self.runbook,
        }

    def data(self) -> dict[str, Any]:
        """As it stands in a rule file."""
        return {
            "alert": self.name,
            "expr": self.expr,
            "for": f"{self.for_s}s",
            **({"keep_firing_for": f"{self.keep_s}s"} if self.keep_s else {}),
            "labels": {"severity": self.severity, **self.labels},
            "annotations": self.annotations,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One recording rule; ``name`` is level:metric:operations."""

    name: str
    expr: str

    def data(self) -> dict[str, Any]:
        """As it stands in a rule file."""
        return {"record": self.name, "expr": self.expr}


Rule = Alert | Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rules that are evaluated one after the other, each seeing what the ones before recorded."""

    name: str
    rules: tuple[Rule, ...]

    def data(self) -> dict[str, Any]:
        """As it stands in a rule file."""
        return {"name": self.name, "rules": [rule.data() for rule in self.rules]}


def alerts(groups: tuple[Group, ...]) -> Iterator[Alert]:
    """Every alerting rule, in order."""
    for group in groups:
        yield from (rule for rule in group.rules if isinstance(rule, Alert))


def recorded(groups: tuple[Group, ...]) -> Iterator[Recorded]:
    """Every recording rule, in order."""
    for group in groups:
        yield from (rule for rule in group.rules if isinstance(rule, Recorded))


def needed(groups: tuple[Group, ...], wanted: Sequence[Alert]) -> tuple[Rule, ...]:
    """Some alerts, behind the recording rules that they rest on."""
    every = tuple(recorded(groups))
    kept: dict[str, Rule] = {}
    asking: tuple[Rule, ...] = tuple(wanted)
    while asking:
        asking = tuple(r for r in every if r.name not in kept and _named(r.name, asking))
        kept |= {rule.name: rule for rule in asking}
    return (*(rule for rule in every if rule.name in kept), *wanted)


def _named(name: str, rules: Iterable[Rule]) -> bool:
    return any(name in rule.expr for rule in rules)
