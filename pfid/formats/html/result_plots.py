"""Plots of an evaluation as inline SVG: values of both arms, intervals, jitter beside a trip point.

They take the page's own colours and need neither a script nor a plotting library. A report has
axes in seconds over decades, and matplotlib for them where its extra is installed; here are three
forms, each from nothing to its largest value, and a judgement must look the same wherever it is
made: with the extra and without it there would be two drawings of the evidence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pfid.formats.html.markup import Markup, el, text

WIDTH: Final = 640
HEIGHT: Final = 190
LEFT, RIGHT, TOP, BELOW = 56, 12, 22, 30
ROW: Final = 26
NAMES: Final = 190
BINS: Final = 24
LABEL_CHARS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A figure between its ends.

    Attributes:
        name: what it is; untrusted.
        low: lower end.
        at: the figure.
        high: upper end.
        first: whether it is the candidate's.
    """

    name: str
    low: float
    at: float
    high: float
    first: bool = True


def distributions(arms: Sequence[tuple[str, Sequence[float]]], unit: str) -> Markup | None:
    """Shares of each arm's values by bins, beside each other; None without a value."""
    values = [v for _, of_arm in arms for v in of_arm]
    if not values:
        return None
    low, high = min(values), max(values)
    width = (high - low) / BINS or 1.0
    shares = [_shares(of_arm, low, width) for _, of_arm in arms]
    top = max(max(s) for s in shares) or 1.0
    inner_w, inner_h = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BELOW
    slot = inner_w / BINS
    each = (slot - 2) / len(arms)
    drawn = [
        el(
            "rect",
            el("title", f"{text(arms[a][0], LABEL_CHARS)}: {share:.1%}"),
            x=f"{LEFT + i * slot + 1 + a * each:.1f}",
            y=f"{TOP + inner_h * (1 - share / top):.1f}",
            width=f"{each:.1f}",
            height=f"{inner_h * share / top:.1f}",
            class_=("bar", "bar-other")[min(a, 1)],
        )
        for a, of_arm in enumerate(shares)
        for i, share in enumerate(of_arm)
        if share
    ]
    bottom = HEIGHT - BELOW
    said = " and ".join(f"{len(of_arm)} of {text(n, LABEL_CHARS)}" for n, of_arm in arms)
    return _svg(
        HEIGHT,
        f"{said} by {unit}",
        el("path", d=f"M{LEFT},{TOP}V{bottom}H{WIDTH - RIGHT}", class_="axis"),
        _label(LEFT - 6, TOP + 8, f"{top:.0%}", "end"),
        _label(LEFT - 6, bottom, "0", "end"),
        _label(LEFT, HEIGHT - 8, f"{low:.4g}", "start"),
        _label(WIDTH - RIGHT, HEIGHT - 8, f"{high:.4g} {unit}", "end"),
        *_legend([name for name, _ in arms]),
        *drawn,
    )


def intervals(spans: Sequence[Span], unit: str) -> Markup | None:
    """A line from end to end with the figure on it, one a row; None without one."""
    if not spans:
        return None
    low, high = min(0.0, *(s.low for s in spans)), max(s.high for s in spans)
    x = _Scale(low, high)
    height = TOP + ROW * len(spans) + BELOW
    rows = []
    for i, span in enumerate(spans):
        y = TOP + ROW * i + ROW / 2
        kind = "" if span.first else "-other"
        rows += [
            _label(NAMES - 8, y + 4, text(span.name, LABEL_CHARS), "end"),
            el(
                "line",
                x1=x(span.low),
                x2=x(span.high),
                y1=f"{y:.1f}",
                y2=f"{y:.1f}",
                class_=f"line{kind}",
            ),
            el(
                "circle",
                el("title", f"{span.at:.4g} [{span.low:.4g}, {span.high:.4g}]"),
                cx=x(span.at),
                cy=f"{y:.1f}",
                r="4",
                class_=f"bar{kind}",
            ),
        ]
    return _svg(
        height,
        f"{len(spans)} figures with their intervals",
        el("path", d=f"M{NAMES},{height - BELOW}H{WIDTH - RIGHT}", class_="axis"),
        _label(NAMES, height - 8, f"{low:.3g}", "start"),
        _label(WIDTH - RIGHT, height - 8, f"{high:.3g} {unit}".strip(), "end"),
        *rows,
    )


def trip_point(rate: float, needed: float | None, threshold: float, jitter: float | None) -> Markup:
    """A rate with the band a trip point must lie outside of, and the trip point."""
    reach = needed or 0.0
    low, high = min(0.0, rate - reach), max(rate + reach, threshold) * 1.15 or 1.0
    x = _Scale(low, high)
    y, height = TOP + 32, TOP + 72 + BELOW
    band = el(
        "rect",
        el("title", f"{rate:.4g} ± {reach:.4g}: a trip point in here flips"),
        x=x(rate - reach),
        y=f"{y - 14:.1f}",
        width=f"{float(x(rate + reach)) - float(x(rate - reach)):.1f}",
        height="28",
        class_="band",
    )
    said = "" if jitter is None else f", jitter sd {jitter:.3g}"
    return _svg(
        height,
        f"rate {rate:.4g}, trip point {threshold:.4g}{said}",
        el("path", d=f"M{NAMES},{height - BELOW}H{WIDTH - RIGHT}", class_="axis"),
        band,
        el("circle", cx=x(rate), cy=f"{y:.1f}", r="4", class_="bar"),
        el("line", x1=x(threshold), x2=x(threshold), y1=str(TOP), y2=str(y + 34), class_="trip"),
        _label(float(x(threshold)), TOP - 6, f"trip point {threshold:.3g}", "middle"),
        _label(float(x(rate)), y + 32, f"rate {rate:.3g}{said}", "middle"),
        _label(NAMES, height - 8, f"{low:.3g}", "start"),
        _label(WIDTH - RIGHT, height - 8, f"{high:.3g}", "end"),
    )


def _shares(values: Sequence[float], low: float, width: float) -> list[float]:
    counts = [0] * BINS
    for value in values:
        counts[min(int((value - low) / width), BINS - 1)] += 1
    return [count / max(len(values), 1) for count in counts]


class _Scale:
    def __init__(self, low: float, high: float) -> None:
        self._low = low
        self._span = (high - low) or 1.0

    def __call__(self, value: float) -> str:
        return f"{NAMES + (WIDTH - RIGHT - NAMES) * (value - self._low) / self._span:.1f}"


def _legend(names: Sequence[str]) -> list[Markup]:
    drawn = []
    for i, name in enumerate(names):
        x = LEFT + 10 + i * 230
        drawn += [
            el("rect", x=str(x), y="4", width="10", height="10",
               class_=("bar", "bar-other")[min(i, 1)]),
            _label(x + 16, 13, text(name, LABEL_CHARS), "start"),
        ]  # fmt: skip
    return drawn


def _label(x: float, y: float, said: str, anchor: str) -> Markup:
    return el("text", said, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor)


def _svg(height: float, said: str, *inside: Markup) -> Markup:
    drawing = el(
        "svg",
        el("title", said),
        *inside,
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        width=str(WIDTH),
        height=f"{height:.0f}",
        role="img",
        class_="plot",
    )
    return el("div", drawing, class_="wide")
