"""Which changes people are told of, and when a channel that failed is tried again."""

from typing import Final

from pfid.domain.outcome import Outcome
from pfid.domain.transition import Origin, Transition
from pfid.spec.notice import Notice

FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 300.0
GIVE_UP_S: Final = 86_400.0
"""A notice that nobody took for a day is counted as failed: it is no news any more."""


def worth_telling(transition: Transition) -> bool:
    """A real failure that begins or ends; everything else is for whoever looks."""
    fails = transition.verdict.outcome is Outcome.FAIL
    failed = transition.before is Outcome.FAIL
    return transition.origin is Origin.REAL and fails is not failed


def wait_s(failures: int) -> float:
    """How long to wait after so many failures in a row: doubling, to five minutes."""
    return min(FIRST_WAIT_S * 2.0 ** min(failures - 1, 30), LONGEST_WAIT_S)


def given_up(at_s: float, now_s: float) -> bool:
    """Whether a notice is too old to be tried again."""
    return now_s - at_s > GIVE_UP_S


def notice(event_id: int, host: str, transition: Transition) -> Notice:
    """What is told of a transition; without what belongs to the run's owner alone."""
    verdict = transition.verdict
    return Notice(
        event_id=event_id,
        host=host,
        at_s=transition.at_s,
        check=transition.check,
        kind=transition.entity.kind.value,
        about=transition.entity.id,
        before="" if transition.before is None else transition.before.value,
        outcome=verdict.outcome.value,
        reason=verdict.reason,
        summary=verdict.summary,
        figures={name: figure.value for name, figure in verdict.figures.items()},
    )
