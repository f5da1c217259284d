"""What is drawn stands where its figures say: each coordinate is read back as the value shown."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfid.formats.html.result_plots import (
    BELOW,
    BINS,
    HEIGHT,
    LEFT,
    NAMES,
    RIGHT,
    TOP,
    WIDTH,
    Span,
    distributions,
    intervals,
    trip_point,
)

PIXEL = 0.11
"""Coordinates are written with one digit."""
VALUES = st.floats(-1e6, 1e6).filter(lambda v: v == 0 or abs(v) > 1e-3)


def drawn(markup):
    return ET.fromstring(str(markup))


def of(svg, tag, kind=None):
    return [e for e in svg.iter(tag) if kind is None or e.get("class") in kind]


def at(element, name):
    return float(element.get(name))


def read(x, low, high):
    """The value that a place on the axis stands for."""
    return low + (x - NAMES) / (WIDTH - RIGHT - NAMES) * (high - low)


@given(st.lists(st.tuples(VALUES, VALUES, VALUES).map(sorted), min_size=1, max_size=8))
@settings(max_examples=50)
def test_every_interval_lies_between_its_ends_with_its_figure_on_it(ends):
    spans = [Span(name=f"s{i}", low=a, at=b, high=c) for i, (a, b, c) in enumerate(ends)]
    svg = drawn(intervals(spans, ""))
    low, high = min(0.0, *(s.low for s in spans)), max(s.high for s in spans)
    near = PIXEL / (WIDTH - RIGHT - NAMES) * (high - low or 1.0)
    lines, points = of(svg, "line"), of(svg, "circle")
    assert len(lines) == len(points) == len(spans)
    for i, (span, line, point) in enumerate(zip(spans, lines, points, strict=True)):
        found = [read(at(*pair), low, high if high > low else low + 1.0)
                 for pair in ((line, "x1"), (point, "cx"), (line, "x2"))]  # fmt: skip
        if high > low:
            assert found == pytest.approx([span.low, span.at, span.high], abs=near)
        assert at(line, "y1") == at(line, "y2") == at(point, "cy")
        assert i == 0 or at(point, "cy") > at(points[i - 1], "cy")


def test_the_axis_of_intervals_names_its_ends_and_each_row_its_figure():
    spans = [
        Span(name="rate", low=0.1, at=0.25, high=0.5),
        Span(name="b", low=0.2, at=0.3, high=0.4),
    ]
    svg = drawn(intervals(spans, ""))
    words = [e.text for e in svg.iter("text")]
    assert words == ["0", "0.5", "rate", "b"]
    assert [e.findtext("title") for e in of(svg, "circle")] == [
        "0.25 [0.1, 0.5]",
        "0.3 [0.2, 0.4]",
    ]
    labels = [e for e in svg.iter("text") if e.text in ("rate", "b")]
    for label, point in zip(labels, of(svg, "circle"), strict=True):
        assert abs(at(label, "y") - at(point, "cy")) <= 4, "a name stands beside its own row"


def test_the_other_arm_is_told_apart():
    spans = [Span(name=n, low=0, at=1, high=2, first=n == "a") for n in "ab"]
    svg = drawn(intervals(spans, ""))
    assert [e.get("class") for e in of(svg, "circle")] == ["bar", "bar-other"]
    assert [e.get("class") for e in of(svg, "line")] == ["line", "line-other"]


@given(
    rate=st.floats(0, 1),
    needed=st.none() | st.floats(0, 0.5),
    threshold=st.floats(0, 1),
)
@settings(max_examples=50)
def test_the_trip_point_lies_in_the_band_exactly_if_it_flips(rate, needed, threshold):
    svg = drawn(trip_point(rate, needed, threshold, 0.01))
    (band,), (trip,), (point,) = of(svg, "rect", ["band"]), of(svg, "line"), of(svg, "circle")
    reach = needed or 0.0
    begins, ends = at(band, "x"), at(band, "x") + at(band, "width")
    assert at(trip, "x1") == at(trip, "x2")
    assert begins - PIXEL <= at(point, "cx") <= ends + PIXEL
    assert at(point, "cx") == pytest.approx((begins + ends) / 2, abs=2 * PIXEL)
    low = min(0.0, rate - reach)
    high = max(rate + reach, threshold) * 1.15 or 1.0
    near = 2 * PIXEL / (WIDTH - RIGHT - NAMES) * (high - low)
    assert read(at(trip, "x1"), low, high) == pytest.approx(threshold, abs=near)
    assert read(at(point, "cx"), low, high) == pytest.approx(rate, abs=near)
    if abs(abs(threshold - rate) - reach) > 2 * near:
        inside = begins <= at(trip, "x1") <= ends
        assert inside == (abs(threshold - rate) <= reach)


def share_of(bar):
    return float(bar.findtext("title").rpartition(": ")[2].rstrip("%")) / 100


ARM = st.lists(st.floats(0, 1e5), min_size=1, max_size=60)


@given(ours=ARM, theirs=ARM)
@settings(max_examples=50)
def test_every_bar_is_as_high_as_its_share_and_stands_over_its_values(ours, theirs):
    svg = drawn(distributions([("ours", ours), ("theirs", theirs)], "words"))
    low, width = min(ours + theirs), (max(ours + theirs) - min(ours + theirs)) / BINS or 1.0
    for values, kind in ((ours, "bar"), (theirs, "bar-other")):
        bars = [e for e in of(svg, "rect", [kind]) if e.find("title") is not None]
        shares = [share_of(e) for e in bars]
        assert sum(shares) == pytest.approx(1.0, abs=0.0006 * len(bars))
        slot = (WIDTH - LEFT - RIGHT) / BINS
        for share, bar in zip(shares, bars, strict=True):
            place = int((at(bar, "x") - LEFT) / slot)
            held = sum(min(int((v - low) / width), BINS - 1) == place for v in values)
            assert held / len(values) == pytest.approx(share, abs=0.0006)
            assert at(bar, "y") + at(bar, "height") == pytest.approx(HEIGHT - BELOW, abs=2 * PIXEL)
        top = max(share_of(e) for e in of(svg, "rect") if e.find("title") is not None)
        for share, bar in zip(shares, bars, strict=True):
            full = HEIGHT - TOP - BELOW
            rounded = full * 0.001 / top  # both shares are told to a tenth of a percent
            assert at(bar, "height") == pytest.approx(full * share / top, abs=rounded + PIXEL)
    assert len([e for e in of(svg, "rect") if e.find("title") is None]) == 2, "the legend"


def test_a_distribution_names_its_ends_its_top_and_its_arms():
    svg = drawn(distributions([("tuned", [1.0, 1.0, 25.0]), ("base", [1.0, 9.0, 25.0])], "words"))
    words = [e.text for e in svg.iter("text")]
    assert words == ["67%", "0", "1", "25 words", "tuned", "base"]
    assert svg.find("svg/title").text == "3 of tuned and 3 of base by words"


def test_nothing_is_no_plot():
    assert distributions([("a", [])], "words") is None
    assert intervals([], "") is None
