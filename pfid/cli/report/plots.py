"""Who draws the plots of a report: a library where one is installed, else a few lines of ours."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Final, Protocol

from pfid.formats.html.markup import Markup
from pfid.formats.html.plots import bars, scatter, timeline

BOUNDS_S: Final = tuple(0.01 * 2**k for k in range(17))
BARS: Final = 12
"""Of a distribution: as many as have room for their bounds."""
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


def _bounds_between(least: float, most: float) -> list[float]:
    """Upper bounds of the bars; of factor two from 10 ms where a step took no time at all."""
    if most <= least:
        return [most]
    if least <= 0:
        return [bound for bound in BOUNDS_S if bound < most] + [most]
    factor = most / least
    return [*(least * factor ** (k / BARS) for k in range(1, BARS)), most]


class SmallPlots:
    """The shapes of the daemon's own page."""

    def distribution(self, seconds: Sequence[float], baseline_s: float | None) -> Markup:
        """By bars of one factor, from the fastest to the slowest step."""
        del baseline_s
        bounds = _bounds_between(min(seconds), max(seconds))
        counts = [0] * len(bounds)
        for value in seconds:
            counts[min(bisect_left(bounds, value), len(bounds) - 1)] += 1
        return bars(counts, [f"{bound:.4g}" for bound in bounds], "s")

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
