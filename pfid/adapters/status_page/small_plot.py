"""A small line with what it shows written beneath."""

from collections.abc import Sequence

from pfid.formats.html.markup import Markup, el
from pfid.formats.html.plots import sparkline


def small_plot(
    values: Sequence[float],
    said: str,
    scale: str,
    baseline: float | None = None,
    at_least: float = 0.0,
) -> Markup:
    """A small line, and beneath it what it shows from least to most: it has no axis."""
    drawn = sparkline(values, said, baseline, at_least)
    if len(values) < 2:
        return drawn
    return el("span", drawn, el("span", scale.format(min(values), max(values)), class_="scale"))
