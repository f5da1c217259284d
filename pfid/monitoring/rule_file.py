"""The rule file: about pfid, about jobs, and two alerts a check."""

from collections.abc import Iterable
from typing import Any, Final

from pfid.monitoring.check_rules import AlertedCheck, check_group
from pfid.monitoring.own_rules import OWN, dead_man
from pfid.monitoring.rule import Group
from pfid.monitoring.run_rules import FLEET, RUN_FACTS

JOB: Final = "pfid"
"""Name of the scrape job, unless told otherwise."""


def rule_groups(checks: Iterable[AlertedCheck], job: str = JOB) -> tuple[Group, ...]:
    """Every group. Checks read what the runs' group records, so they are one group with it."""
    of_checks = check_group(checks)
    return (
        dead_man(job),
        OWN,
        FLEET,
        Group(name=of_checks.name, rules=(*RUN_FACTS, *of_checks.rules)),
    )


def rules_data(groups: Iterable[Group]) -> dict[str, Any]:
    """As Prometheus takes it."""
    return {"groups": [group.data() for group in groups]}
