"""Which rate over the records of an evaluation is meant."""

from typing import Annotated

from msgspec import Meta

from pfid.spec.result_gates.table import Table

Named = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"\S")]


class Rate(Table, frozen=True, kw_only=True):
    """A rate: the mean of a metric, the share below a floor, or the share with a flag.

    Attributes:
        metric: a score of the records.
        flag: or a flag of theirs.
        below: count the records whose metric is below this.
        family: of these prompts alone; left out for all.
    """

    metric: str = ""
    flag: str = ""
    below: float | None = None
    family: str | None = None

    def problems(self) -> list[str]:
        """Either the one or the other."""
        if self.metric and self.flag:
            return [".flag: a rate is of a metric or of a flag, not of both"]
        if self.below is not None and not self.metric:
            return [".below: needs a metric that is below it"]
        return []

    @property
    def told(self) -> bool:
        """Whether it says what is counted."""
        return bool(self.metric or self.flag)
