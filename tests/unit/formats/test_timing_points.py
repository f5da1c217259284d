"""Timings are read from what people have, and what is malformed is named by its record."""

import json

import pytest

from pfid.formats.timing_points import Point, TimingsError, parse_file, parse_inline

WANTED = (Point(width=512, seconds=0.5), Point(width=1_024, seconds=1.25))


@pytest.mark.parametrize("text", ["512:0.5,1024:1.25", " 512:0.5, 1024:1.25 ", "512:.5 1024:1.25"])
def test_points_on_the_command_line(text):
    assert parse_inline(text) == WANTED


@pytest.mark.parametrize(
    "text",
    [
        "512\t0.5\n1024\t1.25\n",
        "512,0.5\r\n1024,1.25\r\n",
        "# a comment\n\n512 0.5\n1024   1.25",
        "seq,seconds\n512,0.5\n1024,1.25",
        "step_ms\twidth\n500\t512\n1250\t1024",
        "\ufeffseq time_us\n512 500000\n1024 1250000",
        "512:0.5\n1024:1.25\n",
        json.dumps([[512, 0.5], [1024, 1.25]]),
        json.dumps([{"width": 512, "seconds": 0.5}, {"width": 1024, "seconds": 1.25}]),
        json.dumps({"timings": [{"width": 512, "seconds": 0.5}, {"width": 1024, "ms": 1250}]}),
        json.dumps({"residuals": [{"width": 512, "seconds": 0.5}, [1024, 1.25]]}, indent=2),
        '{"width": 512, "seconds": 0.5}\n\n{"seq_len": 1024, "seconds": 1.25}\n',
    ],
)
def test_files_of_every_kind_hold_the_same_points(text):
    assert parse_file(text.encode()) == WANTED


def test_one_of_several_columns_is_chosen_by_name_and_gives_the_unit():
    text = b"seq\tflex_ms\tsdpa_ms\n128\t10\t20\n"
    assert parse_file(text, "sdpa_ms") == (Point(width=128, seconds=0.02),)
    with pytest.raises(TimingsError, match=r"2 columns of times \(flex_ms, sdpa_ms\).*--column"):
        parse_file(text)
    with pytest.raises(TimingsError, match="no column 'gpu'"):
        parse_file(text, "gpu")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no line"),
        ("seq,seconds\n", "nothing below"),
        ("512,0.5\n1024,x\n", "line 2: 'x' is no time"),
        ("512,0.5\n10.5,1\n", "line 2: '10.5' is no width"),
        ("512,0.5\n0,1\n", "line 2: '0' is no width"),
        ("512,0.5\n1024,-1\n", "line 2: '-1' is no time"),
        ("512,0.5\n1024,nan\n", "line 2: 'nan' is no time"),
        ("512,0.5\n1024\n", "line 2: 1 columns, 2 in the first"),
        ("1,2,3\n", "3 columns and no header"),
        ('{"width": 1}', "record 1: it has no seconds"),
        ('[{"seconds": 1}]', "record 1: it has no width"),
        ('[{"width": true, "seconds": 1}]', "True is no width"),
        ("[7]", "record 1: 7 is neither"),
        ("[" * 100_000, "nested without end"),
        ("512,1e-300\n", "1e-300 s is no time of a step"),
        ("w,ms\n512,1e300\n", "line 2: 1e\\+297 s is no time of a step"),
        ("[]", "no timing"),
        ('{"width": 1, "seconds": 2}\n{"width"\n', "line 2: no JSON"),
        ("512:1\n1024=2\n", "point 2: '1024=2' is not WIDTH:SECONDS"),
    ],
)
def test_what_is_malformed_is_named(text, why):
    with pytest.raises(TimingsError, match=why):
        parse_file(text.encode())


def test_bytes_that_are_no_text_are_named():
    with pytest.raises(TimingsError, match="byte 4: not UTF-8"):
        parse_file(b"1 2\n\xff")


@pytest.mark.parametrize("text", ["512", "512:x", "a:1", "512:0", ",", "512:1e999"])
def test_points_that_are_none(text):
    with pytest.raises(TimingsError):
        parse_inline(text)
