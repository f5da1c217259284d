"""A planted fault is measured where it arrived, and never believed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfid.formats.answers.planting import FAULTS, Sources, arrivals, can_show, planted
from pfid.spec.fakes_results import record

SOURCES = Sources(
    refusals={"": "I can't.", "de": "Ich kann nicht."},
    passage=" ".join(f"corpus text {n} of {n * n}" for n in range(300)),
)
GOOD = [
    record(
        n, " ".join(f"answer {n} has some words of its own, which is {k * n}." for k in range(4))
    )
    for n in range(9)
]


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_a_good_answer_has_none(name):
    faulty = planted(name, GOOD, SOURCES)
    assert arrivals(name, GOOD, faulty, SOURCES) == len(GOOD)
    assert arrivals(name, GOOD, GOOD, SOURCES) == 0
    assert [r.item for r in faulty] == [r.item for r in GOOD]


@pytest.mark.parametrize("name", FAULTS)
def test_one_fault_is_not_taken_for_another(name):
    faulty = planted(name, GOOD, SOURCES)
    others = {other: arrivals(other, GOOD, faulty, SOURCES) for other in FAULTS if other != name}
    assert not any(n for other, n in others.items() if (name, other) != ("looped", "padded"))


def test_an_answer_of_one_letter_cannot_be_cut():
    good = [record(1, "4")]
    assert planted("truncated", good, SOURCES)[0].output == "4"
    assert arrivals("truncated", good, planted("truncated", good, SOURCES), SOURCES) == 0


@pytest.mark.parametrize("name", ["truncated", "padded", "looped"])
@pytest.mark.parametrize(("words", "able"), [(29, 0), (30, 1)])
def test_a_short_answer_has_no_length_to_lose(name, words, able):
    good = [record(1, " ".join(f"w{n}" for n in range(words)))]
    faulty = planted(name, good, SOURCES)
    assert (faulty[0] != good[0]) == bool(able)
    assert arrivals(name, good, faulty, SOURCES) == able
    assert can_show(name, good[0]) == bool(able)


@pytest.mark.parametrize("name", ["refused", "memorised"])
def test_a_short_answer_can_be_refused_and_memorised(name):
    good = [record(1, "Lisbon.")]
    assert arrivals(name, good, planted(name, good, SOURCES), SOURCES) == 1


def test_what_was_thought_makes_no_answer_long():
    assert not can_show("truncated", record(1, f"<think>{'so ' * 90}</think>Lisbon."))


def test_a_refusal_is_in_the_language_of_the_record():
    read = planted("refused", [record(1, "Ja.", language="de-AT"), record(2, "Oui.")], SOURCES)
    assert [r.output for r in read] == ["Ich kann nicht.", "I can't."]


def test_tokens_follow_the_text():
    good = record(1, "word " * 100, output_tokens=130)
    assert planted("truncated", [good], SOURCES)[0].output_tokens < 60
    assert planted("padded", [good, record(2, "other " * 400)], SOURCES)[0].output_tokens > 300


def test_without_a_corpus_nothing_is_memorised():
    bare = Sources(refusals={"": "No."})
    assert arrivals("memorised", GOOD, planted("memorised", GOOD, bare), bare) == 0


@given(st.lists(st.text(), min_size=1, max_size=6), st.sampled_from(sorted(FAULTS)))
def test_any_answers_can_be_tried(outputs, name):
    good = [record(n, text) for n, text in enumerate(outputs)]
    faulty = planted(name, good, SOURCES)
    assert len(faulty) == len(good)
    assert 0 <= arrivals(name, good, faulty, SOURCES) <= len(good)
