"""The rule file: about pfid, about jobs, straight from series, and two alerts a check."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from pfid.domain.errors import PfidError
from pfid.monitoring.check_rules import AlertedCheck, check_group
from pfid.monitoring.own_rules import OWN, dead_man
from pfid.monitoring.rule import Alert, Group, alerts
from pfid.monitoring.run_rules import FLEET, RUN_FACTS
from pfid.monitoring.series_rules import IF_ASKED, series_group

JOB: Final = "pfid"
"""Name of the scrape job, unless told otherwise."""


class RuleChoiceError(PfidError):
    """Alerts were named that there are not, or that must stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What an operator wants otherwise than it comes, by names of alerts.

    Attributes:
        more: of those that are printed only if asked for.
        fewer: of the others; the dead man's group stays.
    """

    more: frozenset[str] = frozenset()
    fewer: frozenset[str] = frozenset()


AS_IT_COMES: Final = Choice()
EVERY: Final = Choice(more=frozenset(alert.name for alert in IF_ASKED))


def rule_groups(
    checks: Iterable[AlertedCheck], job: str = JOB, choice: Choice = AS_IT_COMES
) -> tuple[Group, ...]:
    """Every group. Checks read what the runs' group records, so they are one group with it.

    Raises:
        RuleChoiceError: if a name that was chosen is none, or must stay.
    """
    of_checks = check_group(checks)
    first = dead_man(job)
    others = (
        OWN,
        FLEET,
        series_group(choice.more),
        Group(name=of_checks.name, rules=(*RUN_FACTS, *of_checks.rules)),
    )
    _check(choice, first, others)
    return (first, *(_without(group, choice.fewer) for group in others))


def _check(choice: Choice, first: Group, others: tuple[Group, ...]) -> None:
    staying = sorted(choice.fewer & {a.name for a in alerts((first,))})
    if staying:
        raise RuleChoiceError(f"{', '.join(staying)}: the dead man's group stays as a whole")
    if unknown := sorted(choice.more - EVERY.more):
        known = ", ".join(sorted(EVERY.more))
        raise RuleChoiceError(f"{', '.join(unknown)}: to be asked for are {known}")
    if unknown := sorted(choice.fewer - {a.name for a in alerts(others)}):
        raise RuleChoiceError(f"{', '.join(unknown)}: there is no such alert to leave out")


def _without(group: Group, names: frozenset[str]) -> Group:
    kept = (r for r in group.rules if not isinstance(r, Alert) or r.name not in names)
    return replace(group, rules=tuple(kept))


def rules_data(groups: Iterable[Group]) -> dict[str, Any]:
    """As Prometheus takes it."""
    return {"groups": [group.data() for group in groups]}
