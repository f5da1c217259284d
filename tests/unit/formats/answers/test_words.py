"""Words are counted in every script."""

import pytest

from pfid.formats.answers.words import word_count


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("The capital of Portugal is **Lisbon**.", 6),
        ("na\u00efve caf\u00e9", 2),
        ("\u8461\u8404\u7259\u7684\u9996\u90fd\u662f\u91cc\u65af\u672c\u3002", 5),
        ("GPU \u306f\u901f\u3044\uff01", 3),
    ],
)
def test_words(text, words):
    assert word_count(text) == words
