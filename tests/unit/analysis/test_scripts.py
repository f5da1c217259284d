"""Which alphabet: by letters, and only where nobody expects it."""

import pytest

from pfid.analysis.scripts import expected_scripts, script_counts, unexpected_share


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("", {"latin": 0}),
        ("Ab 1!", {"latin": 2}),
        ("na\u00efve \u00d7 2", {"latin": 5}),
        ("\u041c\u0438\u0440 ok", {"cyrillic": 3, "latin": 2}),
        ("\u6771\u4eac\u30bf", {"han": 2, "kana": 1}),
        ("\U0001f600 \u2014 5\u00b0", {}),
        ("\ud800x", {"latin": 1}),
        ("\ue000", {"other": 1}),
    ],
)
def test_letters_by_script(text, counts):
    assert script_counts(text) == counts


def test_the_prompt_the_reference_and_the_language_say_what_is_expected():
    assert expected_scripts(("Hello",)) == {"latin"}
    assert expected_scripts(("\u041c\u0438\u0440",)) == {"latin", "cyrillic"}
    assert expected_scripts(("hi",), "ja-JP") == {"latin", "han", "kana"}
    assert expected_scripts(("\u30bf",)) == {"latin", "kana", "han"}


def test_only_what_is_unexpected_counts():
    text = "\u041c\u0438\u0440 aaa"
    assert unexpected_share(text, {"latin"}) == 0.5
    assert unexpected_share(text, {"latin", "cyrillic"}) == 0
    assert unexpected_share("123 \u2014", {"latin"}) == 0
