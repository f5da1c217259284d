"""Plots by the real matplotlib: they stand alone, are the same each time, and carry any figures."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from pfid.adapters.report_plots import PlotsMissingError, ReportPlots
from pfid.formats.html.plots import BIG_POINTS_MAX

SVG = "{http://www.w3.org/2000/svg}"
STEPS = (
    (1.0,),
    (0.0, 0.0),
    (2.0, 2.0, 2.0),
    (0.0, 1.0, 100.0),
    (0.001, 0.002, 40_000.0),
    (10.0,) * 500 + (400.0,) * 40,
    tuple(1 + i % 7 for i in range(100_000)),
)


def drawn(plots):
    yield plots.distribution((1.0, 2.0, 3.0), 2.0)
    yield plots.timeline((1.0, 2.0, 3.0), 2.0)
    yield plots.buckets((0, 3, 1, 0), ("0.01", "0.02", "0.04", "more"))
    yield plots.scatter(((1.0, 627.0), (0.0, 77.0)), 700.0, 640.0)


def texts(svg):
    return [e.text for e in ET.fromstring(svg).iter(f"{SVG}text")]


def test_a_plot_loads_and_runs_nothing_and_names_no_day():
    for svg in drawn(ReportPlots()):
        assert svg.startswith('<div class="wide"><svg ')
        assert not re.search(r"<(script|style|metadata|image|a|foreignObject)\b", svg)
        assert not re.search(r'href="(?!#)|url\((?!#)|@import', svg)
        assert not re.search(r"20[0-9]{2}-[0-9]{2}", svg)


def test_its_colours_are_the_pages_and_its_text_is_text_in_the_pages_font():
    svg = ReportPlots().scatter(((1.0, 627.0),), 700.0, 640.0)
    assert not re.search(r"#[0-9a-f]{6}\b", svg), "a colour of its own is wrong on dark or on light"
    assert "var(--line)" in svg
    assert "font-family" not in svg
    assert {"limit", "its own dense GEMM", "utilisation, %", "power, W"} <= set(texts(svg))


def test_the_same_figures_give_the_same_bytes_and_no_two_plots_share_a_name():
    first, again = list(drawn(ReportPlots())), list(drawn(ReportPlots()))
    same = first == again  # a difference of such texts takes pytest minutes to show
    assert same
    names = [name for svg in first for name in re.findall(r' id="([^"]+)"', svg)]
    assert names
    assert len(names) == len(set(names))


@pytest.mark.parametrize("steps", STEPS, ids=[f"{len(s)}-{s[0]:g}-{s[-1]:g}" for s in STEPS])
@pytest.mark.parametrize("baseline_s", [None, 10.0])
def test_any_step_times_are_drawn_within_bounds(steps, baseline_s):
    plots = ReportPlots()
    for svg in (plots.distribution(steps, baseline_s), plots.timeline(steps, baseline_s)):
        assert f">{len(steps)} " in svg
        assert "nan" not in svg
        assert len(svg) < 100_000
        assert ("baseline" in texts(svg)) is (baseline_s is not None)


def test_a_single_slow_step_among_many_stays_visible():
    steps = [1.0] * 50_000
    steps[31_337] = 15.0
    svg = ReportPlots().timeline(steps, None)
    assert len(steps) > BIG_POINTS_MAX
    path = max(re.findall(r'd="(M[^"]+)"', svg), key=len)
    heights = [float(y) for _, y in re.findall(r"[ML] ([0-9.]+) ([0-9.]+)", path)]
    assert max(heights) - min(heights) > 100


@pytest.mark.parametrize("slow", [15.0, 190.0, 4_000.0], ids=["linear", "low", "logarithmic"])
def test_the_name_of_a_line_is_not_written_over_the_axis(slow):
    """The lowest figure of the upright axis stands where the axis lies."""
    svg = ReportPlots().timeline((10.0,) * 300 + (slow,), 10.0)
    heights = {e.text: float(e.get("y")) for e in ET.fromstring(svg).iter(f"{SVG}text")}
    axis = heights["step"] - 26.0  # its name is two lines below
    assert heights["baseline"] < axis


def test_a_logarithmic_axis_has_figures_enough_to_read_by():
    said = set(texts(ReportPlots().timeline((10.0,) * 300 + (4_000.0,), None)))
    assert {"10", "20", "50", "100", "200", "500", "1000"} <= said


def test_what_stands_in_a_users_own_settings_changes_nothing(tmp_path):
    (tmp_path / "matplotlibrc").write_text(
        "axes.facecolor: red\nfont.size: 40\nsvg.fonttype: path\n"
    )
    script = (
        "from pfid.adapters.report_plots import ReportPlots\n"
        "print(ReportPlots().scatter(((1.0, 2.0),), None, None), end='')"
    )
    theirs = _python(script, MATPLOTLIBRC=str(tmp_path / "matplotlibrc"))
    same = theirs.stdout == ReportPlots().scatter(((1.0, 2.0),), None, None)
    assert same, theirs.stderr


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(PlotsMissingError, match=r"^pip install '\.\[report\]' in pfid's checkout$"):
        ReportPlots()


def test_a_library_that_does_not_load_is_a_missing_one_with_its_reason():
    script = (
        "from pfid.adapters.report_plots import PlotsMissingError, ReportPlots\n"
        "try: ReportPlots()\n"
        "except PlotsMissingError as error: print(error)"
    )
    done = _python(script, MPLBACKEND="nonsense")
    assert done.stdout.startswith("matplotlib does not load: "), done.stderr
    assert "nonsense" in done.stdout


def _python(script, **environ):
    return subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=True,
    )
