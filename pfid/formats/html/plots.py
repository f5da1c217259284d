"""Small plots as inline SVG: a line of step times, a distribution, a scatter. Coordinates only.

The daemon's page is made of these, and a report where no plotting library is installed: a hundred
megabytes are much for three shapes. They take the page's own colours and need no script.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from pfid.formats.html.markup import Markup, el

WIDTH, HEIGHT = 160, 28
HEADROOM: Final = 1.2
BIG_WIDTH, BIG_HEIGHT = 640, 180
_LEFT, _BELOW, _ABOVE = 56, 24, 10
BIG_POINTS_MAX: Final = 2_000
LEAST: Final = 1e-300
"""Below it floats lose their digits, and a power of ten is none any more."""
WHOLE_FROM: Final = 1_000
"""Figures from here on are written whole: 1.227e+04 is read by nobody."""


def sparkline(
    values: Sequence[float | None],
    said: str,
    baseline: float | None = None,
    at_least: float = 0.0,
) -> Markup:
    """A small line without axes; the baseline dashed. Scaled from 0, so that slow looks slow.

    Args:
        values: oldest first, at even distances; the line is broken where one is None.
        said: what they are, for whoever cannot see it.
        baseline: what they are held against.
        at_least: value that the top stands for, unless one is larger.
    """
    known = [v for v in values if v is not None]
    if len(known) < 2:
        return el("span", "", class_="none")
    top = max(max(*known, baseline or 0.0) * HEADROOM, at_least) or 1.0

    def y(value: float) -> str:
        return f"{HEIGHT - 1 - (HEIGHT - 2) * value / top:.1f}"

    step = WIDTH / (len(values) - 1)
    placed = [None if v is None else f"{i * step:.0f},{y(v)}" for i, v in enumerate(values)]
    lines = [el("polyline", points=" ".join(part), class_="line") for part in _unbroken(placed)]
    marks = () if baseline is None else (_across(y(baseline), WIDTH),)
    now = f"last {len(known)} {said}, {known[-1]:.3g} now"
    return _svg(WIDTH, HEIGHT, now, *marks, *lines)


def _unbroken(points: Iterable[str | None]) -> Iterator[list[str]]:
    """Points that follow each other; one that stands alone twice, so that a dot is drawn."""
    for is_gap, part in groupby(points, lambda point: point is None):
        if not is_gap:
            found = [point for point in part if point is not None]
            yield found if len(found) > 1 else found * 2


def timeline(values: Sequence[float], unit: str, baseline: float | None = None) -> Markup:
    """A line with its axis, each value in its order; thinned to what can be seen."""
    thin = thinned(values)
    top = _round_up(max((*thin, baseline or 0.0), default=1.0))
    inner_w, inner_h = BIG_WIDTH - _LEFT - 8, BIG_HEIGHT - _BELOW - _ABOVE

    def y(value: float) -> str:
        return f"{_ABOVE + inner_h * (1 - value / top):.1f}"

    step = inner_w / max(len(thin) - 1, 1)
    points = " ".join(f"{_LEFT + i * step:.1f},{y(v)}" for i, v in enumerate(thin))
    marks = [] if baseline is None else [_across(y(baseline), BIG_WIDTH - 8, _LEFT)]
    return _svg(
        BIG_WIDTH,
        BIG_HEIGHT,
        f"{len(values)} values in {unit}",
        *_axis(top, unit),
        *marks,
        el("polyline", points=points, class_="line"),
        _label(_LEFT, BIG_HEIGHT - 6, f"oldest of {len(values)}", "start"),
        _label(BIG_WIDTH - 8, BIG_HEIGHT - 6, "newest", "end"),
    )


def bars(counts: Sequence[int], names: Sequence[str], unit: str) -> Markup:
    """One bar a bucket, its name below; empty buckets at both ends left out."""
    shown = used_buckets(counts)
    if not shown:
        return el("p", "No value yet.", class_="none")
    top = float(max(counts))
    inner_w, inner_h = BIG_WIDTH - _LEFT - 8, BIG_HEIGHT - _BELOW - _ABOVE
    width = inner_w / len(shown)
    drawn: list[Markup] = []
    for place, i in enumerate(shown):
        height = inner_h * counts[i] / top
        x = _LEFT + place * width
        drawn.append(
            el(
                "rect",
                el("title", f"up to {names[i]} {unit}: {counts[i]}"),
                x=f"{x + 1:.1f}",
                y=f"{_ABOVE + inner_h - height:.1f}",
                width=f"{max(width - 2, 1):.1f}",
                height=f"{height:.1f}",
                class_="bar",
            )
        )
        drawn.append(_label(x + width / 2, BIG_HEIGHT - 6, names[i], "middle"))
    said = f"{sum(counts)} values by {unit}"
    below = _label(_LEFT - 6, BIG_HEIGHT - 6, f"up to, {unit}", "end")
    return _svg(BIG_WIDTH, BIG_HEIGHT, said, *_axis(top, "steps"), below, *drawn)


def scatter(pairs: Sequence[tuple[float, float]], x_unit: str, y_unit: str) -> Markup:
    """Points, the newest darkest; x from 0 to 1."""
    top = _round_up(max((y for _, y in pairs), default=1.0))
    inner_w, inner_h = BIG_WIDTH - _LEFT - 8, BIG_HEIGHT - _BELOW - _ABOVE
    dots = [
        el(
            "circle",
            cx=f"{_LEFT + inner_w * min(max(x, 0.0), 1.0):.1f}",
            cy=f"{_ABOVE + inner_h * (1 - y / top):.1f}",
            r="3",
            class_="dot",
        )
        for x, y in pairs[-BIG_POINTS_MAX:]
    ]
    said = f"{len(pairs)} points, {x_unit} against {y_unit}"
    return _svg(
        BIG_WIDTH,
        BIG_HEIGHT,
        said,
        *_axis(top, y_unit),
        *dots,
        _label(BIG_WIDTH - 8, BIG_HEIGHT - 6, f"{x_unit} 0 to 1", "end"),
    )


def _svg(width: int, height: int, said: str, *inside: Markup) -> Markup:
    return el(
        "svg",
        el("title", said),
        *inside,
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
        role="img",
    )


def _across(y: str, to: int, begin: int = 0) -> Markup:
    return el("line", x1=str(begin), x2=str(to), y1=y, y2=y, class_="baseline")


def _axis(top: float, unit: str) -> tuple[Markup, ...]:
    bottom = BIG_HEIGHT - _BELOW
    return (
        _label(_LEFT - 6, _ABOVE + 8, f"{top:,.0f}" if top >= WHOLE_FROM else f"{top:.4g}", "end"),
        _label(_LEFT - 6, _ABOVE + 24, unit, "end"),
        _label(_LEFT - 6, bottom, "0", "end"),
        el(
            "path",
            d=f"M{_LEFT},{_ABOVE}V{bottom}H{BIG_WIDTH - 8}",
            class_="axis",
        ),
    )


def _label(x: float, y: float, said: str, anchor: str) -> Markup:
    return el("text", said, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def used_buckets(counts: Sequence[int]) -> range:
    """Places from the first bucket with something in it to the last, one more at each side."""
    used = [i for i, n in enumerate(counts) if n]
    if not used:
        return range(0)
    return range(max(used[0] - 1, 0), min(used[-1] + 2, len(counts)))


def thinned(values: Sequence[float]) -> Sequence[float]:
    """At most so many points; of each stretch the largest, so that no spike is lost."""
    if len(values) <= BIG_POINTS_MAX:
        return values
    size = -(-len(values) // BIG_POINTS_MAX)
    return [max(values[i : i + size]) for i in range(0, len(values), size)]


def _round_up(value: float) -> float:
    """The next of 1, 2, 5 times a power of ten; the least that is drawn for what lies below it."""
    if not value > 0:
        return 1.0
    power: float = 10.0 ** math.floor(math.log10(max(value, LEAST)))
    return next((power * m for m in (1, 2, 5, 10) if power * m >= value), power * 20)
