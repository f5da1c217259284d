"""Who draws the plots of a report: a library where one is installed, else a few lines of ours."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, Protocol

from pfid.formats.html.markup import Markup
from pfid.formats.html.plots import bars, scatter, timeline

BOUNDS_S: Final = tuple(0.01 * 2**k for k in range(17))
BUCKET_TEXTS: Final = (*(f"{bound:.4g}" for bound in BOUNDS_S), "more")


class Plots(Protocol):
    """What a report draws. Every sequence has at least one finite value."""

    def distribution(self, seconds: Sequence[float], baseline_s: float | None) -> Markup:
        """How often a step took how long."""
        ...

    def buckets(self, counts: Sequence[int], names: Sequence[str]) -> Markup:
        """How many steps fell into each bucket."""
        ...

    def timeline(self, seconds: Sequence[float], baseline_s: float | None) -> Markup:
        """How long each step took, in order."""
        ...

    def scatter(
        self, pairs: Sequence[tuple[float, float]], limit_w: float | None, gemm_w: float | None
    ) -> Markup:
        """Utilisation, a share, against watts; the limit and the card's own GEMM across."""
        ...


class SmallPlots:
    """The shapes of the daemon's own page."""

    def distribution(self, seconds: Sequence[float], baseline_s: float | None) -> Markup:
        """By buckets of factor two."""
        del baseline_s
        counts = [0] * len(BUCKET_TEXTS)
        for value in seconds:
            counts[bisect_left(BOUNDS_S, value)] += 1
        return bars(counts, BUCKET_TEXTS, "s")

    def buckets(self, counts: Sequence[int], names: Sequence[str]) -> Markup:
        """As they are."""
        return bars(counts, names, "s")

    def timeline(self, seconds: Sequence[float], baseline_s: float | None) -> Markup:
        """A line."""
        return timeline(seconds, "s", baseline_s)

    def scatter(
        self, pairs: Sequence[tuple[float, float]], limit_w: float | None, gemm_w: float | None
    ) -> Markup:
        """Points; what they are held against stands in words beside them."""
        del limit_w, gemm_w
        return scatter(pairs, "utilisation", "W")
