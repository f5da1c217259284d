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
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SERVICE = "image: nginx:latest\n    ports:\n      - 80:80\n    restart: always"
OPTIONS = "A) in the north\n   B) in the south\n   C) by the sea\n   D) none of the above"
REMARK = "and this is the one that has to be as it was"
UNINDENTED = OPTIONS.replace("   ", "")


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
        "\n".join(f"{LETTERS[i % 26]}) I open the door and I look." for i in range(40)),
        "\n".join(f"{LETTERS[i % 26].upper()}. I open the door and I look." for i in range(40)),
        "\n".join(f"{'i' * (i % 3 + 1)}. I open the door and I look." for i in range(40)),
        "\n\n".join(f"Scene {i}\n  I open the door.\n  I look at her." for i in range(30)),
        "\n\n".join(f"{c} is far.\n{c} is old." for c in CITIES) + "\nI go on and on." * 90,
        "\n".join(f".{c} {{\n" + "  color: red;\n" * 30 + "}" for c in CITIES),
        "```python\n" + "    x = x + 1\n" * 60 + "```",
        "```\n" + ".a {\n  color: red;\n  margin: 0;\n}\n" * 30,
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
        "\n".join(f".{c} {{\n  color: red;\n  margin: 0;\n  padding: 0;\n}}" for c in CITIES),
        "\n".join(f".{c}\n{{\n  color: red;\n  margin: 0;\n  padding: 0;\n}}" for c in CITIES),
        "services:\n" + "\n".join(f"  {c}:\n    {SERVICE}" for c in CITIES),
        "\n".join(f"- name: {c}\n  image: nginx:latest\n  restart: always" for c in CITIES),
        "\n".join(f"{i}. Where is {c}?\n   {OPTIONS}" for i, c in enumerate(CITIES)),
        "\n".join(f"{i}. Where is {c}?\n{UNINDENTED}" for i, c in enumerate(CITIES)),
        "\n\n".join(f"{i}. Where is {c}?\n{UNINDENTED}" for i, c in enumerate(CITIES)),
        GOOD + "\n" + "\n".join(f"- name: {c}{d}\n  {SERVICE}" for c in CITIES for d in "abc"),
        "\n".join(["0 & 0 & 1 & 0 \\\\", "1 & 0 & 0 & 0 \\\\"] * 6),
        "\n".join([". . . . . . . ."] * 8),
        "\n\n".join(f"[{c}]\nhost = db of the house\nuser = one of the many" for c in CITIES),
        "```python\n" + "\n".join(f"check({i})  # {REMARK}" for i in range(30)) + "\n```",
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
