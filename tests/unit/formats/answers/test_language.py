"""A language that no pattern file reads is known as such, whatever words it shares with others."""

import dataclasses
import tomllib
from pathlib import Path

import pytest

from pfid.adapters.refusal_patterns import shipped_patterns
from pfid.domain.answer import Stance
from pfid.formats.answers.commonest_words import COMMONEST
from pfid.formats.answers.language import alphabet, languages
from pfid.formats.answers.proven_book import proven_book
from pfid.formats.answers.stance import stance_of

FILES = shipped_patterns()
BOOK = proven_book(FILES).book
REFUSALS = tomllib.loads(Path(__file__).with_name("unread_refusals.toml").read_text())
SHOWN = sorted(COMMONEST.keys() & REFUSALS.keys())


@pytest.mark.parametrize("named", [None, "en", "itself"])
@pytest.mark.parametrize("language", sorted(REFUSALS))
def test_a_refusal_that_nobody_can_read_is_no_answer(language, named):
    said = language if named == "itself" else named
    assert stance_of(REFUSALS[language], BOOK, said) is Stance.UNCLEAR


@pytest.mark.parametrize("language", SHOWN)
def test_a_language_with_words_of_its_own_is_told_by_its_name(language):
    assert BOOK.languages.of(REFUSALS[language]) == language


def test_what_a_text_shows_goes_before_what_its_record_says():
    english = "The harbour lay in fog, and she counted the lamps of the quay."
    assert BOOK.languages.reads(english, "nl")
    assert not BOOK.languages.reads(REFUSALS["nl"], "en_GB")


@pytest.mark.parametrize(
    ("text", "language", "read"),
    [
        ("42", "nl", True),
        ("Lisbon", None, True),
        ("Lisbon", "nl", False),
        ("\u00c9vora", None, False),
        ("\u00c9vora", "pt-BR", True),
        ("\u05dc\u05d9\u05e1\u05d1\u05d5\u05df", "en", False),
        ("Tartu, P\u00e4rnu, Narva, Viljandi", "en", True),
        ("Tartu, P\u00e4rnu, Narva, Viljandi", None, False),
    ],
)
def test_where_no_words_tell_the_record_does_and_without_it_nobody(text, language, read):
    assert BOOK.languages.reads(text, language) is read


def test_a_file_of_ones_own_makes_its_language_readable():
    dutch = dataclasses.replace(FILES[0], language="nl", words=COMMONEST["nl"])
    assert languages([dutch]).reads(REFUSALS["nl"])


def test_words_of_a_shipped_language_are_known_without_its_file_too():
    assert {f.language for f in FILES if f.words} <= COMMONEST.keys()


def test_an_alphabet_is_that_of_most_letters():
    assert alphabet("\u041c\u0438\u0440, abc") == "CYRILLIC"
    assert alphabet("12 ...") == ""
