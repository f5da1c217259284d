"""Tables that become one card a row where the screen is narrow, and the words in them."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

from pfid.formats.html.markup import Child, Markup, el

_STEPS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def table(heads: Sequence[str], rows: Iterable[Sequence[Child]]) -> Markup:
    """A table; each cell carries its column's name for narrow screens."""
    body = [
        el(
            "tr",
            *(
                el("td", el("span", cell), data_l=head)
                for head, cell in zip(heads, row, strict=True)
            ),
        )
        for row in rows
    ]
    head = el("thead", el("tr", *(el("th", name, scope="col") for name in heads)))
    return el("table", head, el("tbody", *body))


def tag(word: str, tone: str = "") -> Markup:
    """A word on a ground of its tone: bad, good, wait, or none."""
    return el("span", word, class_=f"tag {tone}".strip())


def tiles(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Figures that stand for themselves."""
    made = (el("div", el("b", value), name, class_="tile") for name, value in pairs)
    return el("div", *made, class_="tiles")


def facts(pairs: Iterable[tuple[str, Child]]) -> Markup:
    """Names and values, one below the other."""
    return el("dl", *(part for name, value in pairs for part in (el("dt", name), el("dd", value))))


def ago(seconds: float | None) -> str:
    """A duration in its largest unit; "" for None."""
    if seconds is None:
        return ""
    for size, unit in _STEPS:
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{max(seconds, 0.0):.0f} s"


def moment(at_s: float) -> str:
    """Wall time in UTC, to the second."""
    try:
        return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        return "?"


def size(count: int | None) -> str:
    """Bytes in their largest binary unit."""
    if count is None:
        return ""
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB"]
    while value >= 1024 and len(units) > 1:
        value /= 1024
        units.pop(0)
    return f"{value:.3g} {units[0]}"
