"""A small line with what it shows written beneath."""

from collections.abc import Sequence
from dataclasses import dataclass

from pfid.formats.html.markup import Markup, el
from pfid.formats.html.plots import sparkline


@dataclass(frozen=True, slots=True)
class Scale:
    """How the ends of a line are written: its name, each figure, the unit behind both."""

    name: str
    figure: str
    unit: str = ""


def small_plot(
    values: Sequence[float | None],
    said: str,
    scale: Scale,
    baseline: float | None = None,
    at_least: float = 0.0,
) -> Markup:
    """A small line, and beneath it what it shows from least to most: it has no axis."""
    drawn = sparkline(values, said, baseline, at_least)
    known = [v for v in values if v is not None]
    if len(known) < 2:
        return drawn
    least, most = (format(end, scale.figure) for end in (min(known), max(known)))
    ends = least if least == most else f"{least} to {most}"
    beneath = f"{scale.name} {ends}{scale.unit}".strip()
    return el("span", drawn, el("span", beneath, class_="scale"))
