"""Nothing a run writes can move a cursor or hide other text."""

import pytest

from pfid.formats.untrusted import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode ✓ ██", "plain ünïcode ✓ ██"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nb\rc\td\x00e\x7f", "a\\x0ab\\x0dc\\x09d\\x00e\\x7f"),
        ("x\u202egnp.exe", "x\\u202egnp.exe"),
        ("a\u2066b\u200bc\ufeff", "a\\u2066b\\u200bc\\ufeff"),
        ("\x9b31m", "\\x9b31m"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        (b"caf\xc3\xa9 \xff\xfe", "café \\xff\\xfe"),
    ],
)
def test_what_could_act_is_escaped_and_what_can_be_read_is_kept(
    text: str | bytes, shown: str
) -> None:
    assert printable(text) == shown


def test_long_text_ends_in_an_ellipsis() -> None:
    assert printable("a" * 301) == "a" * 299 + "…"
    assert printable("a" * 300) == "a" * 300
    assert printable("\x1b" * 300, 10) == "\\x1b\\x1b\\…"
