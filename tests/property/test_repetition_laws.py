"""Measuring repetition: any text, shares are shares, and in linear time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.analysis.repetition import repeated_share, repetition
from pfid.analysis.scripts import script_counts, unexpected_share

WORDS = st.lists(st.sampled_from(["a", "b", "<pad>", "1.", "\n", "\u4e00", "\ud800", "|"]))
TEXT = st.one_of(st.text(), WORDS.map(" ".join), WORDS.map("".join))


@given(TEXT)
def test_any_text_is_measured(text):
    found = repetition(text)
    assert 0 <= found.repeated < 1
    assert 0 <= found.tail_repeated < 1
    assert found.squeezed >= 1
    assert 0 <= unexpected_share(text, {"latin"}) <= 1
    assert sum(script_counts(text).values()) <= len(text)


@given(st.lists(st.sampled_from("abc"), min_size=3))
def test_the_share_is_that_of_counting_by_hand(words):
    trigrams = [tuple(words[i : i + 3]) for i in range(len(words) - 2)]
    again = sum(t in trigrams[:i] for i, t in enumerate(trigrams))
    assert repeated_share(words) == pytest.approx(again / len(trigrams))


@given(st.lists(st.sampled_from("abcdefgh"), min_size=10), st.integers(3, 6))
def test_saying_it_again_never_repeats_less(words, times):
    assert repeated_share(words * times) >= repeated_share(words)


@pytest.mark.parametrize("piece", ["a ", "<pad>", "|\n", "1. a\n", "[PAD] ", "\u4e00", "x\n", "<"])
def test_hostile_text_comes_to_an_end(piece):
    assert repetition(piece * (500_000 // len(piece))).repeated <= 1
