"""A pattern file whose controls fail is refused, by name."""

from dataclasses import replace

import pytest

from pfid.adapters.refusal_patterns import shipped_patterns
from pfid.domain.answer import LabelledAnswer, SeenPattern, Stance
from pfid.formats.answers.proven_book import proven_book

FILES = {file.language: file for file in shipped_patterns()}
EN = FILES["en"]


def refused(*files):
    return {r.name: r.why for r in proven_book(files).refused}


def test_all_that_ship_hold_by_themselves_and_together():
    proven = proven_book(tuple(FILES.values()))
    assert proven.refused == ()
    assert proven.files == len(FILES) == 10
    assert proven.controls > 80


@pytest.mark.parametrize("table", ["redirect", "answer", "refusal"])
@pytest.mark.parametrize("language", sorted(FILES))
def test_a_file_that_lost_a_table_does_not_hold(language, table):
    file = replace(FILES[language], **{table: ()})
    assert file.name in refused(file)


@pytest.mark.parametrize("table", ["not_refusal", "firm", "words"])
def test_in_the_largest_file_every_table_is_held_by_a_control(table):
    assert refused(replace(EN, **{table: type(getattr(EN, table))()}))


def test_a_file_without_controls_of_each_stance_is_refused():
    lame = tuple(c for c in EN.controls if c.stance is not Stance.DEFLECT)
    assert refused(replace(EN, controls=lame)) == {
        "en.toml": "0 controls for deflect, 2 are needed"
    }


def test_a_pattern_that_does_not_find_its_own_sentence_is_refused():
    blind = SeenPattern(pattern="never so", seen="I cannot.")
    assert "does not find 'I cannot.'" in refused(replace(EN, firm=(*EN.firm, blind)))["en.toml"]


@pytest.mark.parametrize("pattern", ["(", "(?=look)ahead", r"(a)\1"])
def test_an_expression_that_is_none_is_refused_and_the_others_go_on(pattern):
    bad = replace(EN, name="own.toml", firm=(SeenPattern(pattern=pattern, seen="x"),))
    proven = proven_book((FILES["de"], bad))
    assert [r.name for r in proven.refused] == ["own.toml"]
    assert proven.book.languages.read == {"de"}


def test_a_control_with_the_wrong_label_is_named():
    wrong = LabelledAnswer(name="upside down", stance=Stance.COMPLY, text="I can't help with that.")
    why = refused(replace(EN, controls=(*EN.controls, wrong)))["en.toml"]
    assert why == "en.toml: control 'upside down' is comply and came out as hard"


def test_a_file_that_spoils_another_language_is_refused():
    """It holds by itself, and its pattern for an offer finds ordinary German."""
    greedy = replace(
        FILES["it"], name="greedy.toml", firm=(SeenPattern(pattern="lissabon", seen="Lissabon"),)
    )
    why = refused(FILES["de"], greedy)
    assert list(why) == ["greedy.toml"]
    assert "'a short answer' is comply and came out as hard" in why["greedy.toml"]


def test_without_any_file_nothing_is_readable():
    assert proven_book(()).book.languages.read == frozenset()
