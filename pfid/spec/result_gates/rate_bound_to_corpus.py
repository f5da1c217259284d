"""Rates that are quoted, and the corpus that they are quoted for."""

import datetime as dt
from typing import Annotated, Literal

from msgspec import Meta

from pfid.spec.result_gates.rate import Named, Rate
from pfid.spec.result_gates.table import Table

Share = Annotated[float, Meta(ge=0, le=1)]


class QuotedRate(Rate, frozen=True, kw_only=True):
    """A rate as somebody wrote it down. What is left out is missed by the check, not by the reader.

    Attributes:
        name: what it is called.
        hits: items that count.
        n: items there were.
        low: lower end of its interval at 95 %.
        high: upper end.
        method: whose interval that is.
        floor: the threshold that decides what counts; "none" where there is none.
        corpus_sha256: content digest of the corpus it was measured on.
        date: of the measurement.
    """

    name: Named
    hits: Annotated[int, Meta(ge=0)] | None = None
    n: Annotated[int, Meta(ge=1)] | None = None
    low: Share | None = None
    high: Share | None = None
    method: Literal["wilson", "wald"] | None = None
    floor: float | Literal["none"] | None = None
    corpus_sha256: Annotated[str, Meta(pattern=r"\A([0-9a-f]{64})?\Z")] = ""
    date: dt.date | None = None

    def problems(self) -> list[str]:
        """No more hits than items."""
        over = self.hits is not None and self.n is not None and self.hits > self.n
        return [*([".hits: more than n"] if over else []), *super().problems()]


class RateGate(Table, frozen=True, kw_only=True):
    """The section.

    Attributes:
        corpus: file or folder that this evaluation's prompts or training texts came from.
        rates: at least one.
    """

    corpus: Annotated[str, Meta(min_length=1, max_length=4_096)]
    rates: Annotated[list[QuotedRate], Meta(min_length=1, max_length=1_000)]

    def problems(self) -> list[str]:
        """Of each rate."""
        return [f".rates[{i}]{p}" for i, one in enumerate(self.rates) for p in one.problems()]
