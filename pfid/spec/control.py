"""A world with a known answer: the proof that a check can fire, and that it can pass."""

from dataclasses import dataclass

from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome
from pfid.domain.verdict import Entity
from pfid.spec.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """One world and what the check must say about it.

    It passes only on the expected outcome, reason *and* entity. An exception, a time-out or
    another reason is an invalid control, never a pass.

    Attributes:
        name: unique within the check.
        world: the whole world, so that reading and judging are driven together.
        expect: the outcome.
        reason: the reason code.
        entity: what the verdict must be about; None means the world's subject.
    """

    name: str
    world: World
    expect: Outcome
    reason: ReasonCode | str
    entity: Entity | None = None
