"""Is a figure found however it is written, and never in another one?"""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.formats.figure_search import Wanted, figures_in, prefilter

HOURS = Wanted(key="k", low=4.3, unit="hours")
STEPS = Wanted(key="k", low=1_311, unit="steps")
SHARE = Wanted(key="k", low=8.6, unit="%")
BARE = Wanted(key="k", low=8.85e-8)
RANGE = Wanted(key="k", low=9.49, high=14.07, unit="%")
SIZE = Wanted(key="k", low=609, unit="MB")
TIMES = Wanted(key="k", low=106, unit="x")
MANY = Wanted(key="k", low=10_000_000_001.0)
HUGE = Wanted(key="k", low=12_345_678_901_234_567_168.0)
THIRD = Wanted(key="k", low=1 / 3)


def found(line, wanted):
    hits = [one.text for one in figures_in(line, [wanted])]
    assert not hits or re.search(prefilter([wanted]), line), "the prefilter would miss it"
    return bool(hits)


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        (HOURS, "(2.5 min to reuse, ~4.3 HOURS to rebuild)"),
        (HOURS, "4.3h"),
        (HOURS, "4,3 h"),
        (HOURS, "4.30 hrs"),
        (HOURS, "a 4.3-hour job"),
        (HOURS, "4.3\u00a0h"),
        (HOURS, "it takes 258 min."),
        (HOURS, "15,480 s"),
        (HOURS, "15480 seconds"),
        (HOURS, "rebuild_hours = 4.3"),
        (HOURS, "TIMEOUT_H=4.3"),
        (HOURS, "4\u20134.3 hours"),
        (HOURS, "4.3-5 h"),
        (HOURS, "from 4.3 to 5 hours"),
        (STEPS, "1,311 steps"),
        (STEPS, "1_311 optimizer steps"),
        (STEPS, "1\u202f311 steps"),
        (STEPS, "steps: 1311"),
        (STEPS, "max_step=1311"),
        (SHARE, "8.6% MFU"),
        (SHARE, "8.6 percent"),
        (SHARE, r"8.60\,\% of it"),
        (BARE, "B = 8.85e-8"),
        (BARE, "8.85E-08"),
        (BARE, "8.85\u00d710^-8"),
        (BARE, "8.85 * 10**-8"),
        (BARE, r"8.85 \cdot 10^{-8}".replace(r"\cdot", "\u00b7")),
        (BARE, "0.0000000885"),
        (RANGE, "9.49\u201314.07 %"),
        (RANGE, "[9.49, 14.07] %"),
        (RANGE, "9.49 to 14.07%"),
        (RANGE, "9.49% to 14.07%"),
        (SIZE, "609 MB"),
        (SIZE, "609MB"),
        (SIZE, "0.609 GB"),
        (TIMES, "106x"),
        (TIMES, "106 times"),
        (TIMES, "106\u00d7"),
        (MANY, "1.00000000010000e+10"),
        (MANY, "1.0000000001e10"),
        (MANY, "10,000,000,001.0"),
        (THIRD, "0.333333333"),
        (THIRD, "3.3333333333e-1"),
        (THIRD, "0.33333333333333331483"),
        (HOURS, "004.3 h"),
        (HUGE, "12345678901234567168"),
        (HUGE, "1.2345678901234567168e19"),
        (HUGE, "12,345,678,901,234,567,000"),
        (HOURS, "4.29999999999999982236 h"),
        (HOURS, "4.300000000000000000e+00 h"),
    ],
)
def test_every_spelling_is_found(wanted, line):
    assert found(line, wanted)


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        (HOURS, "14.3 hours"),
        (HOURS, "4.35 hours"),
        (HOURS, "4.3.1 hours"),
        (HOURS, "v4.3 hours"),
        (HOURS, "4.3 days"),
        (HOURS, "-4.3 h"),
        (HOURS, "4.3"),
        (HOURS, "4.3 h/day"),
        (HOURS, "1.4.3 h"),
        (HOURS, "0x4.3 h"),
        (STEPS, "1311 files"),
        (STEPS, "11311 steps"),
        (STEPS, "13110 steps"),
        (STEPS, "a1311 steps"),
        (SHARE, "8.6 s"),
        (SHARE, "8.6 pp"),
        (BARE, "8.85e-7"),
        (BARE, "8.85"),
        (BARE, "8.85e-8 s"),
        (RANGE, "9.49 %"),
        (RANGE, "9.49\u201314.08 %"),
        (SIZE, "609 GB"),
        (SIZE, "609 MiB"),
        (TIMES, "106"),
    ],
)
def test_another_figure_is_not_taken_for_it(wanted, line):
    assert not found(line, wanted)


def test_places_of_several_figures_are_told_apart():
    line = "4.3 h or 8.6 %, then 4.3 h"
    assert [
        (f.key, f.at) for f in figures_in(line, [HOURS, Wanted(key="m", low=8.6, unit="%")])
    ] == [
        ("k", 0),
        ("m", 9),
        ("k", 21),
    ]


UNITS = st.sampled_from(["s", "min", "h", "%", "MB", "GiB", "W", "x", "tok/s", "steps", ""])


@given(
    value=st.decimals(0, 10**7, places=3).map(float) | st.integers(0, 10**12).map(float),
    unit=UNITS,
    gap=st.sampled_from(["", " ", "\u00a0"]),
    style=st.sampled_from(
        ["{:.3f}", "{:,.3f}", "{:_.3f}", "{:.15g}", "{:.14e}", "{:.20f}", "{:.9e}"]
    ),
)
def test_whatever_is_written_out_is_found(value, unit, gap, style):
    wanted = Wanted(key="k", low=value, unit=unit)
    written = style.format(value)
    if not math.isclose(float(written.replace(",", "").replace("_", "")), value, rel_tol=1e-10):
        return
    assert found(f"took {written}{gap if unit != 'steps' else ' '}{unit} here", wanted)


@pytest.mark.parametrize("line", ["0.1258", "2581 s", "x258 min", "15480123 s"])
def test_digits_within_another_number_cost_no_reading(line):
    assert not re.search(prefilter([HOURS]), line)


@given(st.text(max_size=200))
def test_no_text_breaks_it(text):
    list(figures_in(text, [HOURS, STEPS, SHARE, BARE, RANGE, SIZE, TIMES]))


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_no_figure_breaks_the_prefilter(value):
    re.compile(prefilter([Wanted(key="k", low=value, unit="h")]))
