"""What every check that judges the manifest of a smoke run reads of it, and says where it cannot.

Only a run of this very commit shows what this commit writes down.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pfid.domain.outcome import Outcome
from pfid.spec.answers import Answers
from pfid.spec.control import Control
from pfid.spec.fakes_facts import project_world
from pfid.spec.limits import reported
from pfid.spec.ports.preflight import ManifestFacts

NAMED_MAX: Final = 20
SMOKE_ANSWERS: Final = {
    "no_manifest": (Outcome.UNKNOWN, "the smoke run left no manifest"),
    "manifest_unreadable": (Outcome.UNKNOWN, "the smoke run's manifest cannot be read"),
    "other_commit": (
        Outcome.UNKNOWN,
        "the smoke run was of another commit, or of a tree that was not clean",
    ),
    "smoke_failed": (Outcome.UNKNOWN, "the smoke run did not end well"),
    "not_configured": (Outcome.NOT_APPLICABLE, "the spec names no smoke run"),
}
"""To be spread into a check's :class:`Answers`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmokeSeen:
    """What is read of every manifest; a check adds its own.

    Attributes:
        configured: whether the spec names a smoke run.
        problem: why its manifest cannot be read, "" if it can.
        same_commit: whether it is of this commit.
        ended_well: whether the run did.
        said: for the project's owner.
    """

    configured: bool
    problem: str
    same_commit: bool
    ended_well: bool
    said: tuple[str, ...] = reported(default=())


def smoke_fields(facts: ManifestFacts | None, *words: str) -> dict[str, Any]:
    """The fields of :class:`SmokeSeen`, and what the check's own figures are counted from."""
    known = facts or ManifestFacts()
    said = tuple(word for word in (*words, known.detail) if word)
    return {
        "configured": facts is not None,
        "problem": known.problem,
        "same_commit": known.same_commit,
        "ended_well": known.ended_well,
        "said": said[:NAMED_MAX],
    }


def smoke_code(seen: SmokeSeen, findings: tuple[tuple[str, bool], ...], healthy: str) -> str:
    """The first code that holds: what keeps from looking, what was found, then how it ended."""
    doubts = (
        ("not_configured", not seen.configured),
        (seen.problem, bool(seen.problem)),
        ("other_commit", not seen.same_commit),
        *findings,
        ("smoke_failed", not seen.ended_well),
    )
    return next((code for code, holds in doubts if holds), healthy)


def smoke_facts(**changed: object) -> ManifestFacts:
    """A healthy manifest, but for what is given."""
    known = {"steps": 1, "paired": 2, **changed}
    return ManifestFacts(**known)  # type: ignore[arg-type]


def smoke_controls(answers: Answers) -> Iterator[Control]:
    """Every way not to be able to look."""
    for name, code, facts in (
        ("no manifest", "no_manifest", smoke_facts(problem="no_manifest")),
        ("no JSON", "manifest_unreadable", smoke_facts(problem="manifest_unreadable")),
        ("other commit", "other_commit", smoke_facts(same_commit=False)),
        ("died", "smoke_failed", smoke_facts(ended_well=False)),
        ("not configured", "not_configured", None),
    ):
        yield answers.control(name, code, project_world(manifest=facts))
