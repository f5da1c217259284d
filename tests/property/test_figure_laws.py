"""Laws of looking for figures: what is quick never hides what the full reading finds."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfid.formats.figures import reading
from pfid.formats.figures.likely import LineLook
from pfid.formats.figures.prefilter import prefilter
from pfid.formats.figures.reading import figures_in
from pfid.formats.figures.told_rows import below_of
from pfid.formats.figures.wanted import Wanted
from pfid.formats.table_headers import may_have_header

WANTED = (
    Wanted(key="encode_cache_rebuild", low=4.3, unit="h"),
    Wanted(key="chunked_cross_entropy_cost", low=2, high=5, unit="x"),
    Wanted(key="bucket_size", low=256, unit="samples"),
    Wanted(key="quadratic_share", low=29, unit="%"),
    Wanted(key="quadratic_share", low=0.0625, unit="%"),
    Wanted(key="ends", low=9.49, high=14.07, unit="%"),
    Wanted(key="disk", low=609, unit="MB"),
    Wanted(key="step", low=30, unit="s/it"),
    Wanted(key="speed", low=1_840, unit="tok/s"),
    Wanted(key="bare", low=1_311),
)
NUMBERS = (
    *("4.3", "4,3", "258", "15480", "15,480", "4h18m", "PT4H18M", "4:18", "2", "5", "two", "five"),
    *(
        "256",
        "29",
        "0.29",
        ".29",
        "29/100",
        "0.0625",
        "9.49",
        "14.07",
        "609",
        "609M",
        "0.609",
        "30",
    ),
    *(
        "1311",
        "1,311",
        "1.311e3",
        "4.3E+00",
        "2.9e-1",
        "2.56e+02",
        "1.548e1k",
        "0.03",
        "2x",
        "5x",
        "1{,}311",
        "<b>2</b>",
        "30000",
        "1840",
        "1.84",
        "4\u00bd",
        *("4.300", "4.3000000001", ".29000000001", "2.56000000001e2", "2.00000000001"),
    ),
)
AROUND = (
    *(
        " ",
        " ",
        " ",
        "-",
        "\u2013",
        " to ",
        "/",
        ", ",
        "=",
        ": ",
        "(",
        ")",
        "[",
        "]",
        "|",
        "\t",
        "&",
    ),
    *("h", " h", " hours", "_hours = ", "rebuild_h", "(h)", "timeout_s=", "x", " times", "fold"),
    *(
        "-fold",
        " samples",
        "sample",
        "%",
        " percent",
        "share ",
        "MFU ",
        "factor of ",
        "low=",
        "high=",
    ),
    *(
        "MB",
        " GB",
        "_mb",
        "(MB)",
        " s/it",
        "s_per_it",
        "s_it",
        "ms/step",
        "encode",
        "cache",
        "rebuild",
    ),
    *(
        "<b>",
        "</b>",
        "<td>",
        "&nbsp;",
        "&times;",
        r"\,",
        r"\times",
        "$",
        " \u00b1 0.2",
        "k",
        " thousand",
    ),
    *("tok/s", " # tok / s", "tok_s", "(tok/s)", "ktok_s", "tokens/sec", "s/it"),
    *("minHours", "took ", "of ", "quadratic", "min ", "from ", "loss ", "\u00b5s", "KB ", " pp"),
)
LINES = st.lists(st.sampled_from((*NUMBERS, *NUMBERS, *AROUND)), min_size=1, max_size=9).map(
    "".join
)
HEADERS = st.sampled_from(
    (
        "",
        "",
        "",
        "| rebuild (h) | low | high |",
        "run,rebuild_h,x",
        "a\tMFU %\tMB",
        "a,tok_s,s/it",
        "<th>s/it<th>h",
    )
)


def found(line, header, below):
    return {(one.key, one.at, one.text) for one in figures_in(line, WANTED, header, below)}


@settings(max_examples=250)
@given(LINES, HEADERS, st.one_of(st.just(""), LINES))
def test_what_is_not_likely_is_no_figure(line, header, below):
    quick = found(line, header, below)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "likely", lambda wanted, *_: list(wanted))
        assert quick == found(line, header, below)


PREFILTERS = {one: re.compile(prefilter([one])) for one in WANTED}


@settings(max_examples=250)
@given(LINES, HEADERS, st.one_of(st.just(""), LINES))
def test_whatever_the_reader_finds_the_prefilter_lets_through(line, header, below):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "likely", lambda wanted, *_: list(wanted))
        for one in WANTED:
            if any(True for _ in figures_in(line, [one], header, below)):
                assert PREFILTERS[one].search(f"{line}\n{below}")


@settings(max_examples=250)
@given(LINES, HEADERS, st.one_of(st.just(""), LINES))
def test_a_number_that_is_passed_over_for_its_value_is_no_figure(line, header, below):
    quick = found(line, header, below)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "may_be", lambda *_: True)
        assert quick == found(line, header, below)


LOOKS = [LineLook([one]) for one in WANTED]
COLUMNS = "run,rebuild_h,x"


@settings(max_examples=250)
@given(LINES, st.sampled_from(("", COLUMNS, "run,seed", "low,high")), LINES)
def test_a_row_with_what_the_reader_finds_is_worth_a_look(line, header, below):
    below = "" if header else below
    place = "figures 4.3 h/2 x.py\0"
    rows = f"{place}17\1loss 1\n{place}34\1{line}\n".encode()
    ends = 35 + len(line.encode())
    for one, look in zip(WANTED, LOOKS, strict=True):
        if not any(True for _ in figures_in(line, [one], header, below)):
            continue
        if header:
            kept = list(look.worth_of_columns(rows))
            assert look.tells_over(header) or f"{place}34\1{line}".encode() in kept
            continue
        for mark in "\1\2":
            told = rows + f"{place}{ends}{mark}{below}\n{place}999\1loss 1\n".encode()
            kept = [row for row in look.worth(told) if row.startswith(f"{place}34".encode())]
            assert [below_of(row.partition(b"\1")[2])[0] for row in kept] == [line.encode()]


@given(LINES)
def test_a_line_that_may_be_of_a_table_is_worth_a_look(line):
    row = f"a.py\x0034\1{line}".encode()
    may_stand = may_have_header(line) and LOOKS[0].has_digits(line.encode())
    assert not may_stand or list(LOOKS[0].worth(row + b"\n"))
