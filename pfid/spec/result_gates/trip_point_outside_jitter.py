"""Trip points, and the rates that they stop."""

from typing import Annotated

from msgspec import Meta

from pfid.spec.result_gates.rate import Named, Rate
from pfid.spec.result_gates.table import Table


class TripPoint(Rate, frozen=True, kw_only=True):
    """One trip point.

    Attributes:
        name: what it is called.
        threshold: the rate at which it trips, 0 to 1.
    """

    name: Named
    threshold: float

    def problems(self) -> list[str]:
        """A rate is needed."""
        lacking = [] if self.told else [".metric: name the metric, or the flag, that is counted"]
        return [*lacking, *super().problems()]


class TripPointGate(Table, frozen=True, kw_only=True):
    """The section.

    Attributes:
        points: at least one.
    """

    points: Annotated[list[TripPoint], Meta(min_length=1, max_length=1_000)]

    def problems(self) -> list[str]:
        """Of each point."""
        return [f".points[{i}]{p}" for i, one in enumerate(self.points) for p in one.problems()]
