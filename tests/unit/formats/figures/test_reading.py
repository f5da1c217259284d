"""Is a figure found however it is written, and never in another one?"""

import math
import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfid.formats.figures.prefilter import prefilter
from pfid.formats.figures.reading import figures_in
from pfid.formats.figures.wanted import Wanted

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


QUADRATIC = Wanted(key="attention_quadratic_share", low=67.8, unit="%")
RATIO = Wanted(key="k", low=0.678, unit="ratio")
TOKENS = Wanted(key="k", low=20_000, unit="tokens")
PARAMETERS = Wanted(key="k", low=26e9)
FOLD = Wanted(key="k", low=2, high=5, unit="x")
PLAIN = Wanted(key="k", low=1_311)
RUN_S = Wanted(key="k", low=145.5, unit="s")


@cache
def quick(wanted):
    return re.compile(prefilter([wanted]))


def found(line, wanted, header=""):
    hits = [one.text for one in figures_in(line, [wanted], header)]
    assert not hits or quick(wanted).search(line), "the prefilter would miss it"
    return bool(hits)


@pytest.mark.parametrize(
    ("wanted", "line"),
    [
        (HOURS, "(2.5 min to reuse, ~4.3 HOURS to rebuild)"),
        (HOURS, "4.3h"),
        (HOURS, "4,3 h"),
        (SHARE, "mfu = .086"),
        (SHARE, ".086 of the peak, as MFU"),
        (Wanted(key="k", low=0.4, high=0.9, unit="ratio"), "share [.4, .9]"),
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
        (HOURS, "4h18m"),
        (HOURS, "4h18"),
        (HOURS, "4 h 18 min"),
        (HOURS, "4 hours and 18 minutes"),
        (HOURS, "4hrs, 18mins"),
        (HOURS, "PT4H18M"),
        (HOURS, "4:18 h"),
        (HOURS, "it took 4:18:00"),
        (HOURS, "4h 18m 0s"),
        (HOURS, "**4.3** hours"),
        (HOURS, "`4.3` h"),
        (HOURS, "$4.3$ h"),
        (HOURS, r"\\SI{4.3}{\\hour}"),
        (HOURS, "4.3+ hours"),
        (HOURS, "rebuild (h): 4.3"),
        (HOURS, "4.3h-5h"),
        (RUN_S, "2m25.5s"),
        (RUN_S, "2 min 25.5 s"),
        (RUN_S, "2:25.5 min"),
        (RANGE, "9.49%-14.07%"),
        (RANGE, "9.49 % - 14.07 %"),
        (RANGE, "9.49%\u201314.07%"),
        (RANGE, "9.49-14.07%"),
        (RANGE, "0.0949-0.1407 of all, a share"),
        (FOLD, "2\u00d7-5\u00d7"),
        (FOLD, "2\u20135\u00d7"),
        (FOLD, "2x-5x"),
        (FOLD, "2x to 5x"),
        (FOLD, "2 to 5 times"),
        (QUADRATIC, "0.678 of the step"),
        (QUADRATIC, "quadratic_share = 0.678"),
        (QUADRATIC, "0,678"),
        (QUADRATIC, "67.8%"),
        (QUADRATIC, "67,8 %"),
        (RATIO, "67.8 %"),
        (RATIO, "0.678 of it"),
        (SHARE, "an MFU of 0.086"),
        (TOKENS, "20k tokens"),
        (TOKENS, "20K tokens"),
        (TOKENS, "20 thousand tokens"),
        (TOKENS, "tokens: 10-20k"),
        (TOKENS, "0.02M tokens"),
        (TOKENS, "20.0k tokens"),
        (PARAMETERS, "26B"),
        (PARAMETERS, "26 billion"),
        (PARAMETERS, "26,000M"),
        (SIZE, "609M"),
        (PLAIN, "1.311k"),
        (PLAIN, "[4.3,1311]"),
        (HOURS, "4.3 -> 2.1 h"),
        (HOURS, "4.3\u21922.1 h"),
        (HOURS, "4.3 => 2.1 h"),
        (Wanted(key="k", low=9.49, high=14.07, unit="%"), "11.78% [9.49, 14.07]"),
        (FOLD, "2- to 5-fold"),
        (FOLD, "2-to-5-fold"),
        (FOLD, "two- to fivefold"),
        (FOLD, "Two to five times"),
        (FOLD, "2--5x"),
        (FOLD, r"$2$--$5\times$"),
        (FOLD, "2&times;\u20135&times;"),
        (FOLD, "low=2, high=5"),
        (FOLD, "min: 2, max: 5 (times)"),
        (FOLD, "from 2 up to 5 times"),
        (FOLD, "a factor of 2-5"),
        (FOLD, "2/5x"),
        (SHARE, "MFU 8.6"),
        (SHARE, "MFU=8.6"),
        (SHARE, "mfu: 8.6"),
        (SHARE, "MFU was 8.6."),
        (SHARE, "utilisation of 8.6"),
        (SHARE, "8.6&nbsp;%"),
        (SHARE, "8.6&#37;"),
        (SHARE, "<b>8.6</b>%"),
        (Wanted(key="k", low=29, unit="%"), "29/100 refused"),
        (Wanted(key="k", low=29, unit="%"), "29 of 100"),
        (Wanted(key="k", low=9.375, unit="%"), "lost 18/192 to truncation"),
        (HOURS, "4.3&nbsp;h"),
        (HOURS, "4.3&#160;h"),
        (HOURS, "4.3&thinsp;hours"),
        (HOURS, "<b>4.3</b>&nbsp;h"),
        (HOURS, "<span class='n'>4.3</span> <span>hours</span>"),
        (HOURS, "<td>4.3</td><td>h</td>"),
        (HOURS, "<meter value='4.3' title='hours'>"),
        (HOURS, "4.3~h"),
        (HOURS, r"4{,}3\,h"),
        (HOURS, "4.3\u200bh"),
        (HOURS, "4.3 \u00b1 0.2 h"),
        (HOURS, "4.3(2) h"),
        (HOURS, "4.3 or 5 h"),
        (HOURS, "4.3 vs 2.1 h"),
        (HOURS, "4.3 Stunden"),
        (HOURS, "rebuildHours = 4.3"),
        (Wanted(key="encode_cache_rebuild", low=4.3, unit="h"), "CACHE_REBUILD = 4.3"),
        (RANGE, "low=9.49, high=14.07"),
        (RANGE, "low: 9.49, high: 14.07"),
        (RANGE, '{"ci_low": 9.49, "ci_high": 14.07}'),
        (RANGE, "low=9.49%, high=14.07%"),
        (RANGE, "Interval(low=0.0949, high=0.1407)"),
        (RANGE, "lower 9.49, upper 14.07 (%)"),
        (RANGE, "p25=9.49 p75=14.07"),
        (RANGE, "(9.49, 14.07)"),
        (RANGE, "[9.49; 14.07]"),
        (RANGE, "9.49 < x < 14.07"),
        (RANGE, "9.49&ndash;14.07&nbsp;%"),
        (RANGE, "<td>9.49</td><td>14.07</td>"),
        (RANGE, "11.78% (95% CI 9.49\u201314.07)"),
        (Wanted(key="k", low=9.49, high=14.07, unit="%"), "11.78% and [9.49, 14.07]"),
        (STEPS, "1&nbsp;311 steps"),
        (STEPS, "1&#8239;311 steps"),
        (STEPS, "1{,}311 steps"),
        (STEPS, r"1\,311 steps"),
        (STEPS, "1.311 steps"),
        (STEPS, "numSteps: 1311"),
        (Wanted(key="k", low=1_234_567, unit="tokens"), "1.234.567 tokens"),
        (Wanted(key="k", low=3_840, unit="launches"), "launch_count=3840"),
        (TIMES, "off by a factor of 106."),
        (TIMES, "speedup=106"),
        (Wanted(key="k", low=44.3, unit="s/it"), "44.3 s / it"),
        (Wanted(key="k", low=44.3, unit="s/it"), "44.3 seconds per optimizer step"),
        (Wanted(key="k", low=44.3, unit="s/it"), "seconds_per_step = 44.3"),
        (Wanted(key="k", low=6.87e-4, unit="s/token"), "6.87\u00d710\u207b\u2074 s/token"),
        (Wanted(key="k", low=6.87e-4, unit="s/token"), "6.87&times;10<sup>-4</sup> s/token"),
        (Wanted(key="k", low=6.87e-4, unit="s/token"), "0.687 ms/token"),
        (Wanted(key="k", low=9.49, high=14.07, unit="%"), "11.78 % (9.49-14.07)"),
        (HOURS, "time.sleep(4.3 * 3600)"),
        (HOURS, "deadline = 4.3*60*60"),
        (HOURS, "SECONDS = 4.3 * 3_600"),
        (HOURS, "timedelta(hours=4.3)"),
        (HOURS, r"$4.3\,\mathrm{h}$"),
        (HOURS, r"4.3~\text{hours}"),
        (SHARE, "8\u00b76% of it"),
        (BARE, "8\u00b785 \u00d7 10\u207b\u2078"),
        (Wanted(key="k", low=4.5, unit="h"), "4\u00bd h"),
        (Wanted(key="k", low=4.5, unit="h"), "4 \u00bd hours"),
        (Wanted(key="k", low=0.25, unit="h"), "\u00bc h"),
        (Wanted(key="k", low=50, unit="%"), "a share of \u00bd"),
        (Wanted(key="k", low=2.5, high=5.5, unit="x"), "2\u00bd\u20135\u00bdx"),
        (Wanted(key="k", low=0.5, high=0.75, unit="h"), "\u00bd to \u00be h"),
        (Wanted(key="k", low=4_500_000, unit="tokens"), "4\u00bd million tokens"),
        (THIRD, "\u2153"),
        (RANGE, '<td>9.49</td><td style="border: 1px 2px">14.07</td>'),
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
        (HOURS, "4h18m30s"),
        (HOURS, "14h18m"),
        (HOURS, "[04:18:00] INFO rebuilt"),
        (HOURS, "2026-08-24 04:18:00 it took long"),
        (HOURS, "see 4:18"),
        (Wanted(key="k", low=4, unit="h"), "4 h 18 min"),
        (Wanted(key="k", low=18, unit="min"), "4 h 18 min"),
        (RANGE, "9.49%-14.08%"),
        (FOLD, "2\u00d7-6\u00d7"),
        (QUADRATIC, "0.0678"),
        (QUADRATIC, "0.678 s"),
        (QUADRATIC, "loss=0.678"),
        (SHARE, "lr 0.086"),
        (SHARE, "x = 0.086"),
        (TOKENS, "20 tokens"),
        (TOKENS, "20M tokens"),
        (TOKENS, "20kB of tokens"),
        (Wanted(key="k", low=20, unit="tokens"), "20k tokens"),
        (Wanted(key="k", low=20), "20k"),
        (PARAMETERS, "26M"),
        (PLAIN, "1311abc"),
        (PLAIN, "f31311a"),
        (PLAIN, "commit 1311fab"),
        (PLAIN, "8f14e45f-1311-4c3a-9d0e-123456789abc"),
        (PLAIN, "#1311"),
        (PLAIN, "issue 1311"),
        (PLAIN, "torch==1311"),
        (PLAIN, "version 1311"),
        (PLAIN, "https://example.org/1311/x"),
        (PLAIN, "1311-08-24"),
        (PLAIN, "10.0.1311.7"),
        (PLAIN, "port 1311"),
        (Wanted(key="k", low=2026), "2026-08-24T04:18:00Z"),
        (Wanted(key="k", low=8), "24.08.2026 or 2026/08/24"),
        (Wanted(key="k", low=18), "at 04:18"),
        (HOURS, "4.3 -> 2.1 s/it"),
        (FOLD, "low=2, high=6"),
        (FOLD, "(2, 5)"),
        (FOLD, "2 to 5 files"),
        (FOLD, "two to five people"),
        (FOLD, "low=2 s, high=5 s"),
        (SHARE, "8.6 of them"),
        (SHARE, "loss 8.6"),
        (SHARE, "MFU 8.61"),
        (SHARE, "MFU 8.6 h"),
        (SHARE, "86/100"),
        (Wanted(key="k", low=29, unit="%"), "29/101"),
        (Wanted(key="k", low=50, unit="%"), "1/2"),
        (Wanted(key="k", low=2, unit="h"), "two of them"),
        (Wanted(key="k", low=2), "two of them"),
        (HOURS, "4.3&nbsp;s"),
        (HOURS, "<b>4.3</b> s"),
        (HOURS, "4.3 \u00b1 0.2 s"),
        (HOURS, "rebuildSeconds = 4.3"),
        (HOURS, "CACHE_REBUILD = 4.3"),
        (Wanted(key="encode_cache_rebuild", low=4, unit="h"), "CACHE_REBUILD = 4"),
        (RANGE, "low=9.49, high=14.08"),
        (RANGE, "low=9.49 s, high=14.07 s"),
        (RANGE, "low=9.49 and then, further on, another, 14.07"),
        (STEPS, "1.311 files"),
        (PLAIN, "1.311"),
        (PLAIN, "1.311.0"),
        (Wanted(key="k", low=9.49, high=14.07, unit="%"), "11.78 s [9.49, 14.07]"),
        (Wanted(key="k", low=9.49, high=14.07, unit="%"), "11.78% [9.49 s, 14.07 s]"),
        (SHARE, "mfu = 1.2.086"),
        (SHARE, "mfu v.086"),
        (HOURS, "4.3 * 7"),
        (HOURS, "4.3 * 3600.5"),
        (HOURS, "4.3 * 60"),
        (HOURS, "timedelta(minutes=4.3)"),
        (HOURS, "4\u00bd h"),
        (HOURS, r"4.3\,\mathrm{m}"),
        (SHARE, "8\u00b75%"),
        (Wanted(key="k", low=8.1, unit="%"), "8\u00b710\u207b\u2078 %"),
        (Wanted(key="k", low=0.5, unit="h"), "4\u00bd h"),
    ],
)
def test_another_figure_is_not_taken_for_it(wanted, line):
    assert not found(line, wanted)


@pytest.mark.parametrize(
    ("wanted", "header", "row"),
    [
        (HOURS, "| run | rebuild (h) |", "| a | 4.3 |"),
        (HOURS, "| run | rebuild [hours] |", "| a | **4.3** |"),
        (HOURS, "run | time, h", "a | 4.3"),
        (HOURS, "| run | time / min |", "| a | 258 |"),
        (HOURS, "run,rebuild_h,n", "a,4.3,7"),
        (HOURS, 'run,"rebuild, h",n', '"a, b",4.3,7'),
        (HOURS, "run\trebuild (s)", "a\t15480"),
        (HOURS, "run;rebuild (h)", "a;4,3"),
        (HOURS, "run & rebuild (h) " + r"\\", "a & 4.3 " + r"\\"),
        (QUADRATIC, "| kernel | share (%) |", "| attention | 67.8 |"),
        (QUADRATIC, "| kernel | share |", "| attention | 0.678 |"),
        (SHARE, "| run | MFU % |", "| a | 8.6 |"),
        (TIMES, "| stale by \u00d7 |", "| 106 |"),
        (STEPS, "| run | steps |", "| a | 1,311 |"),
        (RANGE, "low %,high %", "9.49,14.07"),
        (RANGE, "| rate | ci_low | ci_high |", "| 11.78 % | 9.49 % | 14.07 % |"),
        (FOLD, "| min (x) | max (x) |", "| 2 | 5 |"),
        (HOURS, "run\trebuild (h)", "a\t4.3"),
        (HOURS, "<th>run<th>rebuild (h)", "<tr><td>a</td><td>4.3</td></tr>"),
        (HOURS, "<th>rebuild, h", "<td class='n'><b>4.3</b></td>"),
    ],
)
def test_a_unit_may_stand_over_the_column(wanted, header, row):
    assert found(row, wanted, header)


@pytest.mark.parametrize(
    ("wanted", "header", "row"),
    [
        (HOURS, "| run (h) | rebuild (min) |", "| 1 | 4.3 |"),
        (HOURS, "| rebuild (h) | loss |", "| 9 | 4.3 |"),
        (HOURS, "run,rebuild_s,n", "a,4.3,7"),
        (HOURS, "| run | rebuild |", "| a | 4.3 |"),
        (STEPS, "| steps | files |", "| 5 | 1,311 |"),
        (RANGE, "low s,high s", "9.49,14.07"),
        (RANGE, "a %,b %", "9.48,14.07"),
    ],
)
def test_the_unit_of_another_column_is_not_its_own(wanted, header, row):
    assert not found(row, wanted, header)


@pytest.mark.parametrize(
    ("wanted", "line", "below"),
    [
        (HOURS, "# it takes about 4.3", "# hours to rebuild"),
        (HOURS, "it takes about 4.3", "hours to rebuild"),
        (HOURS, "// 4.3 \\", "// h to rebuild"),
        (RANGE, "between 9.49 and", "14.07 % of it"),
        (FOLD, " * 2- to", " * 5-fold"),
        (STEPS, "after 1,311", "    steps of it"),
        (TOKENS, "it saw 20", "thousand tokens"),
        (Wanted(key="k", low=4_500_000, unit="tokens"), "# some 4.5", "# million tokens"),
    ],
)
def test_a_line_may_be_broken_between_a_number_and_its_unit(wanted, line, below):
    assert re.search(prefilter([wanted]), f"{line}\n{below}")
    assert re.search(prefilter([wanted], by_line=True), line)
    assert [one.at for one in figures_in(line, [wanted], "", below)]
    assert not list(figures_in(line, [wanted]))
    assert not list(figures_in(line, [wanted], "", "of something else"))


def test_what_stands_on_the_next_line_is_found_there_alone():
    assert not list(figures_in("see 7", [HOURS], "", "4.3 h"))


def test_places_of_several_figures_are_told_apart():
    line = "4.3 h or 8.6 %, then 4.3 h"
    assert [
        (f.key, f.at) for f in figures_in(line, [HOURS, Wanted(key="m", low=8.6, unit="%")])
    ] == [
        ("k", 0),
        ("m", 9),
        ("k", 21),
    ]


def hours_written(minutes):
    """Ways in which people write so many minutes, from an hour on."""
    h, m = divmod(minutes, 60)
    yield from (f"{h}h{m:02d}m", f"{h}h{m}m", f"{h} h {m} min", f"{h} hours and {m} minutes",
                f"{h}h{m:02d}", f"PT{h}H{m}M", f"{h}:{m:02d} h", f"{h}h {m}m 0s",
                f"took {h}:{m:02d}:00", f"{minutes} min", f"{60 * minutes:,} s",
                f"{60 * minutes / 1000:.2f}k s")  # fmt: skip


@settings(max_examples=40)
@given(st.integers(60, 60 * 999).filter(lambda minutes: minutes % 60))
def test_every_way_to_write_a_duration_is_found_and_another_is_not(minutes):
    wanted = Wanted(key="k", low=minutes / 60, unit="h")
    other = Wanted(key="k", low=(minutes + 1) / 60, unit="h")
    for written in hours_written(minutes):
        assert found(f"rebuilt in {written} on 32 workers", wanted), written
        assert not found(f"rebuilt in {written} on 32 workers", other), written


def shares_written(thousandths):
    share = thousandths / 1000
    yield from (f"{100 * share:.1f}%", f"{100 * share:.1f} %", f"{100 * share:.1f} percent",
                f"{100 * share:.1f}".replace(".", ",") + " %", f"a share of {share:.3f}",
                f"share={share:.3f}", f"{100 * share:.1f}% of it")  # fmt: skip


@settings(max_examples=40)
@given(st.integers(1, 999))
def test_every_way_to_write_a_share_is_found_and_another_is_not(thousandths):
    wanted = Wanted(key="k", low=thousandths / 10, unit="%")
    other = Wanted(key="k", low=(thousandths + 1) / 10, unit="%")
    for written in shares_written(thousandths):
        assert found(f"it is {written} here", wanted), written
        assert not found(f"it is {written} here", other), written


@settings(max_examples=40)
@given(st.integers(1, 9_999), st.sampled_from([1e3, 1e6, 1e9]))
def test_every_way_to_write_a_large_number_is_found_and_another_is_not(tenths, many):
    value = tenths / 10 * many
    letter, word = {1e3: ("k", "thousand"), 1e6: ("M", "million"), 1e9: ("B", "billion")}[many]
    for written in (f"{tenths / 10}{letter}", f"{tenths / 10} {word}", f"{value:,.0f}",
                    f"{value:_.0f}", f"{value:.6e}", f"{value:.0f}"):  # fmt: skip
        assert found(f"over {written} tokens", Wanted(key="k", low=value, unit="tokens")), written
        other = Wanted(key="k", low=value + many, unit="tokens")
        assert not found(f"over {written} tokens", other), written


ENDS = st.tuples(st.integers(1, 999), st.integers(1, 999)).map(sorted).filter(lambda e: e[0] < e[1])


@settings(max_examples=40)
@given(ENDS, st.sampled_from(["%", "x", "\u00d7", "h", " min", " GB"]),
       st.sampled_from(["-", "\u2013", " - ", " to ", "\u2014", "..", " \u2026 "]))  # fmt: skip
def test_every_way_to_write_a_range_is_found_and_another_is_not(ends, unit, joint):
    low, high = (end / 10 for end in ends)
    for written in (f"{low}{unit}{joint}{high}{unit}", f"{low}{joint}{high}{unit}"):
        line = f"between {written} of it"
        assert found(line, Wanted(key="k", low=low, high=high, unit=unit.strip())), written
        assert not found(line, Wanted(key="k", low=low, high=high + 0.1, unit=unit.strip()))


LOOK_ALIKES = st.one_of(
    st.dates().map(str),
    st.datetimes().map(lambda at: at.isoformat(timespec="seconds")),
    st.times().map(lambda at: f"at {at:%H:%M:%S} it said"),
    st.uuids().map(str),
    st.binary(min_size=20, max_size=20).map(bytes.hex).filter(lambda h: not h.isdecimal()),
    st.tuples(*[st.integers(0, 99)] * 3).map(lambda v: "v{}.{}.{}".format(*v)),
    st.tuples(*[st.integers(0, 99)] * 3).map(lambda v: "torch=={}.{}.{}".format(*v)),
    st.integers(0, 9_999).map("#{}".format),
    st.tuples(*[st.integers(0, 255)] * 4).map(lambda v: "{}.{}.{}.{}".format(*v)),
    st.integers(0, 9_999).map("https://example.org/runs/{}".format),
)


@given(LOOK_ALIKES, st.data())
def test_what_only_looks_like_a_figure_is_none(text, data):
    """Whatever number stands in it, with or without a unit."""
    digits = data.draw(st.sampled_from(re.findall(r"\d+", text)))
    wanted = Wanted(key="k", low=float(digits[:15]))
    assert not list(figures_in(f"see {text} for it", [wanted]))


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


@pytest.mark.parametrize(
    "line",
    ["for at in range(2):", "x = 2", "(2.5 * n) / 3", "step 2 of 9, then 3, 4 and 5"],
)
def test_one_end_of_a_range_alone_costs_no_reading(line):
    assert not quick(FOLD).search(f"{line}\n{line}\n")


def test_a_range_may_be_broken_between_two_lines_for_every_engine():
    for text in ("twice: 2\n# to 5 x", "2 to\n    5-fold", "between .2\nand 5 x"):
        low = Wanted(key="k", low=float(re.findall(r"[.\d]+", text)[0]), high=5, unit="x")
        first, _, below = text.partition("\n")
        assert [one.text for one in figures_in(first, [low], "", below)]
        assert re.search(prefilter([low]), text)
        assert re.search(prefilter([low], by_line=True), first)


@pytest.mark.parametrize("line", ["1e400 h", "1e-400 h", "4\u00d710^999 h", "9e99999999 %"])
def test_no_power_of_ten_is_too_large_to_be_read(line):
    assert not found(line, HOURS)
    assert not found(line, PLAIN)


@pytest.mark.parametrize("piece", [" ", "<", "&", "4.3 ", "' ", "<th>", "low=", "-", "<!-- "])
def test_a_line_made_to_stall_a_reader_stalls_none(piece):
    """Cubic, once, for a pattern with gaps beside each other; so long is what is read as a line."""
    many = piece * (4_000 // len(piece))
    for line in (f"4.3{many}", f"{many}4.3", f"4.3{many}x 14.07"):
        list(figures_in(line, [HOURS], "", "h"))


@given(st.text(max_size=200))
def test_no_text_breaks_it(text):
    list(figures_in(text, [HOURS, STEPS, SHARE, BARE, RANGE, SIZE, TIMES]))


@settings(max_examples=40)
@given(st.floats(allow_nan=True, allow_infinity=True))
def test_no_figure_breaks_the_prefilter(value):
    re.compile(prefilter([Wanted(key="k", low=value, unit="h")]))


def test_two_numbers_with_a_blank_between_that_parts_thousands_too_are_read():
    thousands = Wanted(key="steps", low=15_480_609, unit="steps")
    assert [one.text for one in figures_in("15,480 609 steps", [thousands])] == ["15,480 609"]
