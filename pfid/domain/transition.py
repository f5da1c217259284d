"""A verdict that changed, after hysteresis: what events, metrics and notices are made of."""

from dataclasses import dataclass
from enum import Enum

from pfid.domain.names import CheckName
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Entity, Verdict


class Origin(Enum):
    """Synthetic faults stay synthetic: a self-test's events never enter the real history."""

    REAL = "real"
    SELFTEST = "selftest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """The settled verdict of one check about one entity changed.

    Attributes:
        check: whose verdict.
        entity: about what.
        before: the settled outcome until now; None for the first ever.
        verdict: the new settled verdict.
        at_s: wall time, Unix seconds.
        origin: real or self-test.
    """

    check: CheckName
    entity: Entity
    before: Outcome | None
    verdict: Verdict
    at_s: float
    origin: Origin = Origin.REAL
