"""Nothing that came in as text leaves as markup."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.formats.html.markup import Markup, document, el, text
from pfid.formats.html.tables import ago, moment, size, table


@given(st.text())
def test_text_and_attributes_are_escaped_whatever_they_are(said):
    made = el("p", said, title=said)
    inside = re.fullmatch(r'<p title="([^"<>]*)">([^<>]*)</p>', made, re.DOTALL)
    assert inside, made


def test_elements_stay_elements_and_none_is_left_out():
    assert el("p", el("b", "<"), None, "x", class_="a", id=None) == '<p class="a"><b>&lt;</b>x</p>'


def test_joined_text_is_no_markup():
    assert not isinstance(el("b", "x") + "<i>", Markup)


def test_text_of_a_run_is_bounded_and_cannot_turn_round():
    assert len(text("x" * 10_000, 80)) == 80
    assert "\u202e" not in text("a\u202eb")


def test_a_document_names_its_language_and_its_encoding():
    page = document("t", "b{}", el("p", "x"), refresh_s=15)
    assert page.startswith('<!doctype html>\n<html lang="en"><head><meta charset="utf-8">')
    assert '<meta http-equiv="refresh" content="15">' in page


def test_a_cell_carries_its_columns_name():
    assert '<td data-l="b"><span>2</span></td>' in table(("a", "b"), [("1", "2")])


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, ""), (-3, "0 s"), (59, "59 s"), (60, "1.0 min"), (7_200, "2.0 h"), (86_400, "1.0 d")],
)
def test_ages_are_in_their_largest_unit(seconds, said):
    assert ago(seconds) == said


def test_sizes_and_moments_of_any_number_are_words():
    assert (size(None), size(1023), size(3 << 30), size(1 << 60)) == (
        "",
        "1.02e+03 B",
        "3 GiB",
        "1.05e+06 TiB",
    )
    assert moment(1_788_000_000.0) == "2026-08-29 10:40:00 UTC"
    assert moment(1e300) == "?"
