"""Subjects of pre-launch checks with fixed facts, for controls and tests."""

from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pfid.domain.verdict import Entity, EntityKind
from pfid.spec.world import World

F = TypeVar("F")
CONTROL_PROJECT: Final = Entity(EntityKind.PROJECT, "control")


@dataclass(frozen=True, slots=True)
class FixedFacts(Generic[F]):
    """A subject that stands still; None for one that the spec does not speak of."""

    known: F

    def facts(self) -> F:
        """Return the facts given."""
        return self.known


def project_world(**facts: Any) -> World:
    """World of a project of which the given subjects are known, by name, and nothing else."""
    ports: dict[str, Any] = {name: FixedFacts(known) for name, known in facts.items()}
    return World(subject=CONTROL_PROJECT, **ports)
