"""Reading answers: any text, and in linear time."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.adapters.refusal_patterns import shipped_patterns
from pfid.domain.answer import Stance
from pfid.formats.answers.book import DECLINES, KINDS
from pfid.formats.answers.openings import opening
from pfid.formats.answers.own_words import own_words
from pfid.formats.answers.proven_book import proven_book
from pfid.formats.answers.sentences import plain_form, plain_lines, sentences
from pfid.formats.answers.stance import stance_of
from pfid.formats.answers.visible import visible
from pfid.formats.answers.words import word_count

PIECES = (
    "<think>", "</think>", "[THINK]", "[/THINK]", "<|channel|>", "final", "<|message|>", "<|end|>",
    "<|im_start|>assistant", "<|im_end|>", "</s>", '"', "\u201c", "\u201d", "\u00ab", "```", "\n",
    "> ", "\u2014 ", "ANNA: ", "I can't help with that", ". ", "Here is it", " instead", "a ",
    "\u200b", "\ud800", "\u4e00", "\x00", "analysisWe", "assistantfinal", "\u25c1think\u25b7",
)  # fmt: skip
TEXT = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
BOOK = proven_book(shipped_patterns()).book


@given(TEXT)
def test_any_text_has_a_stance(text):
    stance_of(text, BOOK)


@given(TEXT)
def test_own_words_stand_where_they_stood(text):
    own = own_words(text)
    assert len(own) == len(text)
    assert all(a in (b, " ") for a, b in zip(own, text, strict=True))


@given(TEXT)
def test_what_is_visible_was_in_the_output(text):
    seen = set(visible(text).split())
    assert all(any(word in text for word in (w, w[:1])) for w in seen)


@given(TEXT)
def test_sentences_follow_each_other_inside_the_text(text):
    cut = list(sentences(text))
    assert all(0 <= s.begins < s.ends <= len(text) for s in cut)
    assert all(a.ends <= b.begins for a, b in pairwise(cut))


@given(TEXT)
def test_one_look_at_all_sentences_hides_none(text):
    single = any(BOOK.kinds(s.plain) & DECLINES for s in sentences(text))
    assert BOOK.declines(plain_lines(text)) or not single


@given(TEXT)
def test_a_sentence_that_a_pattern_finds_is_found_by_how_the_pattern_begins(text):
    """The quick look must not hide what a slow one, pattern by pattern, finds."""
    for sentence in sentences(text):
        said = sentence.plain.encode()
        slow = {e.kind for e in BOOK.entries if e.pattern.search(said) is not None}
        assert BOOK.kinds(sentence.plain) == slow


@pytest.mark.parametrize("file", shipped_patterns(), ids=lambda f: f.language)
def test_every_pattern_of_a_file_is_found_by_how_it_begins(file):
    for kind in KINDS:
        for entry in getattr(file, kind):
            assert kind in BOOK.kinds(plain_form(entry.seen)), entry.seen


@pytest.mark.parametrize(
    ("pattern", "begins"),
    [
        ("a.{0,9}b", "a"),
        ("a.{0,9}b|c", "a|c"),
        ("(?:a.{0,9}b|c) d.{1,2}e", "(?:a.{0,9}b|c) d"),
        (r"a\..{2}[.{|(]b", r"a\."),
        (".{0,9}b", ".{0,9}b"),
        ("a|.{0,9}b", "a|.{0,9}b"),
        ("[]|.{(]x.{3}y", "[]|.{(]x"),
        ("[^]|]x.{3}y|z", "[^]|]x|z"),
    ],
)
def test_how_a_pattern_begins(pattern, begins):
    assert opening(pattern) == begins


@given(TEXT, TEXT)
def test_more_text_has_not_fewer_words(one, other):
    assert word_count(f"{one}\n{other}") == word_count(one) + word_count(other)


@pytest.mark.parametrize(
    "piece", [*PIECES, '"a', "<", "a: b\n", "- ", "(", "*_", "<think>`</think>"]
)
def test_hostile_text_comes_to_an_end(piece):
    """What were quadratic in half a million letters would run into the time-out."""
    text = (piece * (500_000 // len(piece) + 1))[:500_000]
    assert isinstance(stance_of(text, BOOK), Stance)
