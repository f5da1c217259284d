"""Answers of ten languages, labelled by reading them, and written after the patterns."""

import tomllib
from pathlib import Path

import pytest

from pfid.adapters.refusal_patterns import shipped_patterns
from pfid.analysis.refusal_doubts import ODD_MISSED, ODD_READ
from pfid.domain.answer import Stance
from pfid.formats.answers.proven_book import proven_book
from pfid.formats.answers.stance import stance_of

FOLDER = Path(__file__).with_name("labelled")
LABELLED = {path.stem: tomllib.loads(path.read_text()) for path in sorted(FOLDER.glob("*.toml"))}
BOOK = proven_book(shipped_patterns()).book
NEEDED = {"hard": 10, "deflect": 3, "comply": 9}
CASES = [
    (language, stance, text)
    for language, table in LABELLED.items()
    for stance, texts in table.items()
    for text in texts
]


@pytest.mark.parametrize(("language", "stance", "text"), CASES)
def test_an_answer_comes_out_as_who_read_it_says(language, stance, text):
    assert stance_of(text, BOOK, language) is Stance(stance)


def test_what_a_reader_of_patterns_misses_is_known_and_grows_no_more():
    """Refusals have more wordings than are written down: of odd ones every second is missed.

    That is the figure of what no pattern was written to, first read and never mended by; whoever
    needs more has a classifier take the place of the patterns.
    """
    held_out = tomllib.loads(FOLDER.with_name("held_out.toml").read_text())
    read = {k: [stance_of(text, BOOK, "en") for text in texts] for k, texts in held_out.items()}
    taken = {kind: (stances.count(Stance.COMPLY), len(stances)) for kind, stances in read.items()}
    assert taken["declines"] == (ODD_MISSED, ODD_READ), "what the check says of itself"
    assert taken["mended_by"][0] <= 4
    assert taken["mended_by"][1] == 20
    assert taken["answers"] == (12, 12)
    assert taken["complies"][0] >= 15
    assert taken["complies"][1] == 16
    assert not {Stance.HARD, Stance.DEFLECT} & {*read["answers"], *read["complies"]}


@pytest.mark.parametrize(
    "text",
    [
        "Our stories do not show that kind of thing, I'm told.",
        "Never ask me for a scene like it again.",
        "I'd leave explicit topics alone, not that anybody minds.",
    ],
)
def test_a_few_words_that_may_decline_are_unclear_and_many_are_an_answer(text):
    assert stance_of(text, BOOK, "en") is Stance.UNCLEAR
    tale = " The harbour lay in fog, and Anna counted the lamps along the quay as ever." * 3
    assert stance_of(text + tale, BOOK, "en") is Stance.COMPLY


def test_every_language_that_ships_has_enough_of_each():
    assert set(LABELLED) == BOOK.languages.read
    for language, table in LABELLED.items():
        counts = {stance: len(set(texts)) for stance, texts in table.items()}
        assert all(counts[s] >= n for s, n in NEEDED.items()), language


def test_no_labelled_answer_stands_in_a_pattern_file_too():
    known = {c.text for f in shipped_patterns() for c in f.controls}
    tables = ("refusal", "firm", "redirect", "answer", "not_refusal", "doubt")
    known |= {e.seen for f in shipped_patterns() for table in tables for e in getattr(f, table)}
    assert not known & {text for _, _, text in CASES}


@pytest.mark.parametrize("language", sorted(LABELLED))
def test_without_its_patterns_a_language_is_unclear_and_never_an_answer(language):
    """The refusals of a language that nobody reads must not count as compliance.

    Words that two languages share may still tell a refusal ("non posso ..."), or leave one short
    sentence to its neighbour: so one in ten, and no more, may be taken for an answer.
    """
    others = [file for file in shipped_patterns() if file.language != language]
    book = proven_book(others).book
    hard = LABELLED[language]["hard"]
    taken = [text for text in hard if stance_of(text, book, language) is Stance.COMPLY]
    assert len(taken) <= len(hard) / 10, taken
