"""What every check that judges the manifest of a smoke run reads of it, and says where it cannot.

Only a run of this very commit, in the environment that would train, shows what the two together
write down.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

from pfid.domain.outcome import Outcome
from pfid.spec.answers import Answers
from pfid.spec.control import Control
from pfid.spec.fakes_facts import project_world
from pfid.spec.limits import reported
from pfid.spec.ports.preflight import ManifestFacts
from pfid.spec.world import World

NAMED_MAX: Final = 20
SMOKE_ANSWERS: Final = {
    "no_manifest": (Outcome.UNKNOWN, "the smoke run left no manifest"),
    "manifest_unreadable": (Outcome.UNKNOWN, "the smoke run's manifest cannot be read"),
    "other_commit": (
        Outcome.UNKNOWN,
        "the smoke run was of another commit, or of a tree that was not clean",
    ),
    "other_environment": (
        Outcome.UNKNOWN,
        "the smoke run was of another interpreter than the spec's, or other libraries",
    ),
    "python_unanswered": (
        Outcome.UNKNOWN,
        "the training interpreter does not say whether the smoke run was of it",
    ),
    "smoke_failed": (Outcome.UNKNOWN, "the smoke run did not end well"),
    "not_configured": (Outcome.NOT_APPLICABLE, "the spec names no smoke run"),
}
"""To be spread into a check's :class:`Answers`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeSeen:
    """What is read of every manifest; a check adds fields of :class:`ManifestFacts`, counted.

    Attributes:
        configured: whether the spec names a smoke run.
        problem: why its manifest cannot be read, "" if it can.
        same_commit: whether it is of this commit.
        same_environment: whether it is of the interpreter and libraries that would train.
        ended_well: whether the run did.
        said: for the project's owner.
    """

    configured: bool
    problem: str
    same_commit: bool
    same_environment: bool
    ended_well: bool
    said: tuple[str, ...] = reported(default=())


S = TypeVar("S", bound=SmokeSeen)


def read_smoke(world: World, kind: type[S]) -> S:
    """Read the manifest once: of each fact that the check's own fields name, how many there are."""
    facts = world.manifest.facts()
    known = facts or ManifestFacts()
    common = {field.name for field in fields(SmokeSeen)}
    own = {f.name: getattr(known, f.name) for f in fields(kind) if f.name not in common}
    words = (word for fact in own.values() if isinstance(fact, tuple) for word in fact)
    return kind(
        configured=facts is not None,
        problem=known.problem,
        same_commit=known.same_commit,
        same_environment=known.same_environment,
        ended_well=known.ended_well,
        said=tuple(word for word in (*words, known.detail) if word)[:NAMED_MAX],
        **{name: len(fact) if isinstance(fact, tuple) else int(fact) for name, fact in own.items()},
    )


def smoke_code(seen: SmokeSeen, findings: tuple[tuple[str, bool], ...], healthy: str) -> str:
    """The first code that holds: what keeps from looking, what was found, then how it ended."""
    doubts = (
        ("not_configured", not seen.configured),
        (seen.problem, bool(seen.problem)),
        ("other_commit", not seen.same_commit),
        ("other_environment", not seen.same_environment),
        *findings,
        ("smoke_failed", not seen.ended_well),
    )
    return next((code for code, holds in doubts if holds), healthy)


def smoke_controls(
    answers: Answers, own: Iterable[tuple[str, str, Mapping[str, Any]]]
) -> Iterator[Control]:
    """The check's own controls, healthy first, then every way not to be able to look.

    Args:
        answers: of the check.
        own: name, expected code, and how the manifest differs from a healthy one.
    """
    for name, code, changed in own:
        yield answers.control(name, code, _smoke(**changed))
    yield answers.control("no manifest", "no_manifest", _smoke(problem="no_manifest"))
    yield answers.control("no JSON", "manifest_unreadable", _smoke(problem="manifest_unreadable"))
    yield answers.control("other commit", "other_commit", _smoke(same_commit=False))
    yield answers.control("other python", "other_environment", _smoke(same_environment=False))
    yield answers.control("silent", "python_unanswered", _smoke(problem="python_unanswered"))
    yield answers.control("died", "smoke_failed", _smoke(ended_well=False))
    yield answers.control("not configured", "not_configured", project_world(manifest=None))


def _smoke(**changed: Any) -> World:
    """A world whose manifest is healthy, but for what is given."""
    return project_world(
        manifest=ManifestFacts(**{"steps": 1, "paired": 2, "resolved": 1, **changed})
    )
