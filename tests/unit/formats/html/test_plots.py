"""Plots hold what they were given, inside their frame, whatever it is."""

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.formats.html.plots import HEIGHT, WIDTH, bars, scatter, sparkline, timeline

SECONDS = st.floats(min_value=0, max_value=1e9, allow_nan=False)


def points(svg):
    line = next(e for e in ET.fromstring(svg).iter() if e.tag == "polyline")
    return [tuple(map(float, p.split(","))) for p in line.get("points").split()]


@given(st.lists(SECONDS, min_size=2, max_size=64), st.none() | SECONDS)
def test_a_sparkline_has_every_value_inside_its_frame(values, baseline):
    drawn = points(sparkline(values, "step times", baseline))
    assert len(drawn) == len(values)
    assert all(-0.1 <= x <= WIDTH + 0.1 and -0.1 <= y <= HEIGHT + 0.1 for x, y in drawn)


def test_a_larger_value_stands_higher():
    (_, low), (_, high) = points(sparkline([1.0, 3.0], "x"))
    assert high < low


def test_one_value_is_no_line():
    assert "polyline" not in sparkline([1.0], "x")


@given(st.lists(st.none() | SECONDS, max_size=64))
def test_a_sparkline_is_broken_where_nothing_is_known_and_moves_no_value(values):
    svg = sparkline(values, "x")
    known = [i for i, value in enumerate(values) if value is not None]
    if len(known) < 2:
        assert "polyline" not in svg
        return
    lines = [e for e in ET.fromstring(svg).iter() if e.tag == "polyline"]
    drawn = [[float(p.split(",")[0]) for p in line.get("points").split()] for line in lines]
    step = WIDTH / (len(values) - 1)
    assert {x for line in drawn for x in line} == {float(f"{i * step:.0f}") for i in known}
    gaps = sum(later - earlier > 1 for earlier, later in pairwise(known))
    assert len(drawn) == gaps + 1
    assert all(len(line) > 1 for line in drawn), "a point alone is drawn as a dot"


@given(st.lists(SECONDS, min_size=2, max_size=5_000))
def test_a_timeline_loses_no_spike(values):
    highest = min(y for _, y in points(timeline(values, "s")))
    alone = points(timeline([max(values), 0.0], "s"))[0][1]
    assert highest == alone


def test_bars_are_the_counts_that_are_there():
    svg = ET.fromstring(bars((0, 0, 0, 5, 10, 0, 0), list("abcdefg"), "s"))
    heights = [float(e.get("height")) for e in svg.iter("rect")]
    assert len(heights) == 4
    assert heights[1] * 2 == heights[2]
    assert "No value" in bars((0, 0), ["a", "b"], "s")


def test_a_scatter_keeps_shares_inside():
    svg = scatter([(0.5, 300.0), (7.0, 700.0)], "utilisation", "W")
    xs = [float(x) for x in re.findall(r'cx="([\d.]+)"', svg)]
    assert max(xs) <= 640


def test_an_axis_is_read_in_whole_figures_and_says_what_its_bars_go_up_to():
    drawn = bars([0, 12_267, 3], ["0.01", "0.02", "0.04"], "s")
    said = [e.text for e in ET.fromstring(drawn).iter("text")]
    assert "12,267" in said
    assert "up to, s" in said


@pytest.mark.parametrize("value", [5e-324, 1e-310, 1e-300, 1e-9, 1.0, 999.9, 1e3, 1e9, 1e300])
def test_every_top_of_an_axis_is_found(value):
    (first, *_) = [e.text for e in ET.fromstring(timeline([value, value], "s")).iter("text")]
    top = float(first.replace(",", ""))
    assert value <= top * (1 + 1e-9)
    assert top <= max(10 * value, 1e-299)
