"""What every part of a layer is counted with."""

from dataclasses import dataclass
from typing import Final

from pfid.domain.training_plan import Method, Plan

HALF: Final = 2
FLOAT: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A plan as the counts ask it."""

    plan: Plan

    @property
    def trains(self) -> bool:
        """Whether every weight trains, so that what meets it is kept."""
        return self.plan.method is Method.FULL

    @property
    def width(self) -> int:
        """Bytes of one activation."""
        return FLOAT if self.plan.float32 and self.trains else HALF
