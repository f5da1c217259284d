"""Which changes people are told of, and when a channel that failed is tried again."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from pfid.domain.outcome import Outcome
from pfid.domain.run import Run
from pfid.domain.transition import Origin, Transition
from pfid.domain.verdict import EntityKind
from pfid.spec.notice import Notice

FIRST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 300.0
GIVE_UP_S: Final = 86_400.0
"""A notice that nobody took for a day is counted as failed: it is no news any more."""


FOLLOWED: Final = "followed"
LIFE_CHECK: Final = "run_gone"
"""Its first verdict about a run says that there is one more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """An event, and what has to be known beside it.

    Attributes:
        event_id: its id.
        transition: what changed.
        run: the run it is about; None if it is about none, or that one is forgotten.
        earlier: the run of the same name and user before this one, where this event is its first.
        failing: what last was said of that one, each a failure.
        unread: its events that cannot be read, each named.
    """

    event_id: int
    transition: Transition
    run: Run | None = None
    earlier: Run | None = None
    failing: tuple[Transition, ...] = ()
    unread: tuple[str, ...] = ()


def begins_a_run(transition: Transition) -> bool:
    """Whether it is the first that is said of a real run's life."""
    about_run = transition.entity.kind is EntityKind.RUN
    first = transition.before is None and transition.check == LIFE_CHECK
    return about_run and first and transition.origin is Origin.REAL


def notices(happened: Happened, host: str) -> Iterator[Notice]:
    """Everything that people are told of an event: what it ends first."""
    transition = happened.transition
    for failed in happened.failing:
        ended = notice(happened.event_id, host, failed, happened.earlier)
        yield replace(
            ended,
            at_s=transition.at_s,
            before=Outcome.FAIL.value,
            outcome=Outcome.NOT_APPLICABLE.value,
            reason=FOLLOWED,
            summary=f"a run of the same name was started again: {transition.entity.id}",
            figures={},
        )
    if worth_telling(transition):
        yield notice(happened.event_id, host, transition, happened.run)


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


def notice(event_id: int, host: str, transition: Transition, run: Run | None = None) -> Notice:
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
        name="" if run is None else run.name,
        user="" if run is None else run.username,
    )
