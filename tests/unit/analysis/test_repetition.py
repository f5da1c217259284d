"""Loops are found, and lists, tables and code are told apart from them."""

import pytest

from pfid.analysis.repetition import repeated_share, repetition, special_run, squeezed

LIMIT = 0.5
GOOD = " ".join(f"word{i * 37 % 1009}" for i in range(900))
CITIES = (
    "Lisbon",
    "Porto",
    "Braga",
    "Faro",
    "Evora",
    "Coimbra",
    "Aveiro",
    "Leiria",
    "Sines",
    "Beja",
)


def looped(text):
    found = repetition(text)
    return max(found.repeated, found.tail_repeated) > LIMIT and not found.framed


@pytest.mark.parametrize(
    "text",
    [
        "I love you. " * 40,
        "no no no no no no no no no no no no",
        " ".join(f"I see number {i} and I go on." for i in range(60)),
        "\n".join(f"{i}. I open the door and I look." for i in range(60)),
        "\n".join(f"Day {i}: I open the door and I look." for i in range(60)),
        GOOD + " and then she said no" * 40,
        "\u6211\u7231\u5317\u4eac\u3002" * 50,
        "\n".join(["| 0 | 0 | 0 |"] * 50),
    ],
)
def test_a_loop_is_a_loop(text):
    assert looped(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The capital of Portugal is **Lisbon**.",
        GOOD,
        "\n".join(f"- {c} is one of the cities of the country that I like." for c in CITIES),
        "\n".join(f"| {i} | {i * i} | {i * i * i} |" for i in range(60)),
        " ".join(f"{c} is one of the cities of the country that I like." for c in CITIES),
        "\n".join(f"    if x == {i}:\n        return self.{c}(x)" for i, c in enumerate(CITIES)),
    ],
)
def test_what_has_a_frame_or_nothing_to_repeat_is_none(text):
    assert not looped(text)


def test_a_list_with_much_in_common_repeats_and_is_framed():
    lines = [f"- {c} is one of the cities of the country that I like the most." for c in CITIES]
    found = repetition("\n".join(lines))
    assert found.repeated > LIMIT
    assert found.framed


def test_repeated_trigrams_are_those_that_stood_there_before():
    assert repeated_share(["a", "b", "c", "a", "b", "c"]) == 0.25
    assert repeated_share(["a", "b"]) == 0


def test_a_loop_of_letters_without_blanks_squeezes_far_beyond_prose():
    assert squeezed("!" * 900) > 40
    assert squeezed(GOOD) < 5


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("Lisbon.<pad><pad>\n<pad> <pad>", 4),
        ("<|im_end|><|im_end|>", 2),
        ("<pad>a<pad>a<pad>", 1),
        ("<pad></s><pad></s>", 1),
        ("\ufffd\ufffd\ufffd", 3),
        ("<div><div><div>", 0),
        ("[PAD][PAD]", 2),
        ("a < b and c[0]", 0),
    ],
)
def test_special_tokens_in_a_row(text, run):
    assert special_run(text) == run
