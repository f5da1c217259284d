"""What a check found, about what, with which figures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from pfid.domain.names import ReasonCode
from pfid.domain.outcome import Outcome


class EntityKind(Enum):
    """The kinds of thing a verdict can be about."""

    BOX = "box"
    RUN = "run"
    GPU = "gpu"
    GATE = "gate"
    PROJECT = "project"
    FILE = "file"
    MODEL = "model"
    METRIC = "metric"
    RESULT = "result"


@dataclass(frozen=True, slots=True)
class Entity:
    """The one thing a verdict is about. ``id`` is public: a run id, a GPU uuid, never a path."""

    kind: EntityKind
    id: str


BOX: Final = Entity(EntityKind.BOX, "box")


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit (``s``, ``bytes``, ``ratio``, ``steps``, ``1`` for a count)."""

    value: float
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One answer of one check.

    Attributes:
        outcome: PASS, FAIL, UNKNOWN or NOT_APPLICABLE.
        reason: code from the check's fixed set.
        summary: a public sentence; no text of a log, no path, no argv.
        figures: numbers the verdict rests on, by name, with units.
        entity: what it is about; None means the world's subject.
        evidence: lines for the run's owner alone.
        label: a qualifier of the same outcome (``flapping``, ``slow``), or "".
    """

    outcome: Outcome
    reason: ReasonCode
    summary: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    entity: Entity | None = None
    evidence: tuple[str, ...] = ()
    label: str = ""

    def __bool__(self) -> bool:
        """Refuse truth testing.

        Raises:
            TypeError: always; compare ``verdict.outcome`` with ``is``.
        """
        raise TypeError("a Verdict is not a truth value; compare verdict.outcome with `is`")
