"""The report's plots by matplotlib: SVG that carries no script, no link and no date.

Colours are the page's own, so that a plot is light or dark as the reader likes it. Of what
matplotlib writes only shapes and text stay; the same figures give the same bytes. Nothing of a
user's matplotlibrc counts. Text of a run never gets in here.
"""

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from pfid.domain.errors import PfidError
from pfid.domain.extras import how_to_install
from pfid.formats.html.markup import Markup, el
from pfid.formats.html.plots import thinned, used_buckets

EXTRA: Final = "report"
SIZE_IN: Final = (8.9, 2.7)
BINS: Final = 48
MANY: Final = 100
"""With more in one bar than that, a few slow steps would not be seen on a linear axis."""
NEAR_THE_AXIS: Final = 0.12
"""Share of a plot's height within which a line's name would be written over the axis."""
WIDE_SPREAD: Final = 20.0
"""Where the slowest step is so many times the median, a linear axis would show the slowest only."""
DIM, RULE, LINE, MARK, WARN = "#010101", "#020202", "#030303", "#040404", "#050505"
COLOURS: Final = {
    DIM: "var(--dim)",
    RULE: "var(--rule)",
    LINE: "var(--line)",
    MARK: "var(--fg)",
    WARN: "var(--bad)",
}
SETTINGS: Final = {
    "axes.edgecolor": RULE,
    "axes.labelcolor": DIM,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.size": 9.0,
    "legend.frameon": False,
    "legend.labelcolor": DIM,
    "svg.fonttype": "none",
    "text.color": DIM,
    "text.parse_math": False,
    "xtick.color": RULE,
    "xtick.labelcolor": DIM,
    "ytick.color": RULE,
    "ytick.labelcolor": DIM,
}
NOTHING_ABOUT: Final = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_SVG: Final = "http://www.w3.org/2000/svg"
_XLINK: Final = "http://www.w3.org/1999/xlink"
_FONT: Final = re.compile(r"font: ([0-9.]+px) [^;]*|; *font-family: [^;]*")
_REFERENCE: Final = re.compile(r"#([\w-]+)")


class PlotsMissingError(PfidError):
    """matplotlib is not there, or does not load."""


class ReportPlots:
    """Draws with matplotlib."""

    def __init__(self) -> None:
        """Load it.

        Raises:
            PlotsMissingError: if it cannot be.
        """
        try:
            import matplotlib as mpl
            from matplotlib.figure import Figure
        except ImportError as error:
            raise PlotsMissingError(how_to_install(EXTRA)) from error
        except Exception as error:  # a setting of its own that it does not like
            raise PlotsMissingError(f"matplotlib does not load: {error}") from error
        self._mpl: Any = mpl
        self._figure: Callable[..., Any] = Figure
        self._drawn_before = 0

    def distribution(self, seconds: Sequence[float], baseline_s: float | None) -> Markup:
        """How often a step took how long."""

        def draw(axes: Any) -> None:
            counts, *_ = axes.hist(seconds, bins=_bins(seconds), color=LINE)
            if _wide((*seconds, *(() if baseline_s is None else (baseline_s,)))):
                axes.set_xscale("log")
            if max(counts) > MANY:
                axes.set_yscale("symlog", linthresh=10)
            else:
                axes.yaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
            axes.set_ylim(bottom=0)
            _plain_ticks(axes.xaxis, axes.yaxis)
            for where, name in _marks(seconds, baseline_s):
                axes.axvline(where, color=MARK, linestyle="--", linewidth=0.9)
                axes.annotate(
                    name,
                    (where, 1.0),
                    xycoords=("data", "axes fraction"),
                    xytext=(0, 1),
                    textcoords="offset points",
                    ha="center",
                    va="bottom",
                    in_layout=False,
                )
            axes.set_xlabel("seconds a step")
            axes.set_ylabel("steps")

        return self._drawn(f"{len(seconds)} steps by their seconds", draw)

    def buckets(self, counts: Sequence[int], names: Sequence[str]) -> Markup:
        """How many steps fell into each bucket; empty ones at both ends left out."""
        used = used_buckets(counts)

        def draw(axes: Any) -> None:
            axes.bar([names[i] for i in used], [counts[i] for i in used], color=LINE)
            axes.set_xlabel("seconds a step, at most")
            axes.set_ylabel("steps")

        return self._drawn(f"{sum(counts)} steps by their seconds", draw)

    def timeline(self, seconds: Sequence[float], baseline_s: float | None) -> Markup:
        """How long each step took, in order; of each stretch the slowest, so no spike is lost."""
        shown = thinned(seconds)
        every = len(seconds) / len(shown)

        def draw(axes: Any) -> None:
            places = [1 + i * every for i in range(len(shown))]
            axes.plot(places, shown, color=LINE, linewidth=1.1, marker=_marker(shown), markersize=3)
            if _wide(seconds):
                axes.set_yscale("log")
            else:
                axes.set_ylim(bottom=0)
            _plain_ticks(axes.yaxis)
            axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
            if baseline_s is not None:
                axes.axhline(baseline_s, color=MARK, linestyle="--", linewidth=0.9)
                _beside(axes, baseline_s, "baseline", MARK)
            axes.set_xlabel("step")
            axes.set_ylabel("seconds")

        return self._drawn(f"{len(seconds)} values in s", draw)

    def scatter(
        self,
        pairs: Sequence[tuple[float, float]],
        limit_w: float | None,
        gemm_w: float | None,
    ) -> Markup:
        """Utilisation, a share, against watts; the limit and the card's own GEMM across."""

        def draw(axes: Any) -> None:
            shares, watts = [100 * u for u, _ in pairs], [w for _, w in pairs]
            axes.scatter(shares, watts, s=14, c=LINE, alpha=0.5, linewidths=0)
            axes.set_xlim(-2, 102)
            axes.set_ylim(0, 1.08 * max(*watts, limit_w or 0.0, gemm_w or 0.0, 1.0))
            for at_w, name, colour in (
                (limit_w, "limit", WARN),
                (gemm_w, "its own dense GEMM", MARK),
            ):
                if at_w is not None:
                    axes.axhline(at_w, color=colour, linestyle="--", linewidth=0.9)
                    _beside(axes, at_w, name, colour)
            axes.set_xlabel("utilisation, %")
            axes.set_ylabel("power, W")

        return self._drawn(f"{len(pairs)} points, utilisation against W", draw)

    def _drawn(self, said: str, draw: Callable[[Any], None]) -> Markup:
        out = io.BytesIO()
        self._drawn_before += 1  # what one plot refers to is called otherwise in the next
        with self._mpl.rc_context():
            self._mpl.rcdefaults()
            self._mpl.rcParams.update(SETTINGS | {"svg.hashsalt": f"plot {self._drawn_before}"})
            figure = self._figure(figsize=SIZE_IN, layout="constrained")
            figure.get_layout_engine().set(h_pad=0.16)
            draw(figure.subplots())
            figure.savefig(out, format="svg", metadata=NOTHING_ABOUT)
        return _inline(out.getvalue(), said)


def _bins(seconds: Sequence[float]) -> list[float]:
    low, high = min(seconds), max(seconds)
    if low == high:
        return [low * 0.9, low * 1.1] if low else [-0.5, 0.5]
    if _wide(seconds):
        return [low * (high / low) ** (i / BINS) for i in range(BINS)] + [high]
    return [low + (high - low) * i / BINS for i in range(BINS)] + [high]


def _wide(seconds: Sequence[float]) -> bool:
    ordered = sorted(seconds)
    return ordered[0] > 0 and ordered[-1] > WIDE_SPREAD * ordered[len(ordered) // 2]


def _marks(seconds: Sequence[float], baseline_s: float | None) -> Iterator[tuple[float, str]]:
    if baseline_s is not None:
        yield baseline_s, "baseline"
    else:
        yield sorted(seconds)[(len(seconds) - 1) // 2], "median"


def _marker(shown: Sequence[float]) -> str:
    return "o" if len(shown) <= 60 else ""


def _plain_ticks(*several: Any) -> None:
    """Figures as people write them: a power of ten would need a markup of its own.

    On a logarithmic axis also 2 and 5 of each decade: two figures on an axis are none to read by.
    """
    from matplotlib import ticker

    for axis in several:
        if axis.get_scale() == "log":
            axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(ticker.NullFormatter())


def _beside(axes: Any, height: float, name: str, colour: str) -> None:
    """Name a line across: beneath it, above it where the axis is too near."""
    _, share = (axes.transScale + axes.transLimits).transform((1.0, height))
    above = share < NEAR_THE_AXIS
    axes.annotate(
        name,
        (0.0, height),
        xycoords=("axes fraction", "data"),
        xytext=(4, 2 if above else -2),
        textcoords="offset points",
        va="bottom" if above else "top",
        color=colour,
        in_layout=False,
    )


def _inline(svg: bytes, said: str) -> Markup:
    """As an element of the page: no prolog, no style of its own, no name that nothing refers to."""
    root = ET.fromstring(svg)  # noqa: S314 - matplotlib wrote it a moment ago
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}:
                parent.remove(child)
    used = {name for e in root.iter() for v in e.attrib.values() for name in _REFERENCE.findall(v)}
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        if "style" in element.attrib:
            element.set("style", _styled(element.attrib["style"]))
    title = ET.Element(f"{{{_SVG}}}title")
    title.text = said
    root.insert(0, title)
    root.attrib |= {"role": "img", "class": "plot"}
    for size in ("width", "height"):
        root.set(size, root.attrib[size].removesuffix("pt"))
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", _XLINK)
    return el("div", Markup(ET.tostring(root, encoding="unicode")), class_="wide")


def _styled(style: str) -> str:
    for ours, page in COLOURS.items():
        style = style.replace(ours, page)
    return _FONT.sub(lambda m: f"font-size: {m[1]}" if m[1] else "", style)
